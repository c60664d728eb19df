#!/usr/bin/env node
import { Command, CommanderError } from 'commander'
import { exportCommand } from './cli/export.command.ts'
import { importCommand } from './cli/import.command.ts'
import { keysCommand } from './cli/keys.command.ts'
import { migrateCommand } from './cli/migrate.command.ts'
import { schemaCommand } from './cli/schema.command.ts'
import { seedCommand } from './cli/seed.command.ts'
import { serve } from './cli/serve.ts'
import { tenantsCommand } from './cli/tenants.command.ts'
import { isDatabaseUnavailable } from './db/availability.ts'
import { OperatorError } from './operator-error.ts'

// A reader that has seen enough (`fusion keys list | head -1`) is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit(0)
})

const program = new Command('fusion')
  .description('Fusion Gateway: GraphQL and REST over users, accounts, profiles and jobs')
  .exitOverride()
  .configureOutput({ outputError: (text, write) => write(text) })

program.command('serve').description('serve both faces until told to stop').action(serve)
const commands = [
  ...[migrateCommand(), tenantsCommand(), keysCommand()],
  ...[importCommand(), exportCommand(), seedCommand(), schemaCommand()],
]
for (const command of commands) program.addCommand(command)
inheritExitOverride(program)

try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = report(error)
}

/** Exit codes: 0 done, 1 the command failed, 2 it was called wrongly. */
function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  if (error instanceof OperatorError) process.stderr.write(`${error.message}\n`)
  else if (isDatabaseUnavailable(error)) process.stderr.write(`The database cannot be reached: ${reasonOf(error)}\n`)
  else process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`)
  return 1
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as Error
  return cause instanceof Error || (typeof cause === 'object' && cause !== null && 'originalMessage' in cause)
    ? String((cause as { originalMessage?: string; message?: string }).originalMessage ?? (cause as Error).message)
    : message
}

function inheritExitOverride(command: Command): void {
  for (const child of command.commands) inheritExitOverride(child.exitOverride())
}
