#!/usr/bin/env node
import { isDriverAdapterError } from '@prisma/driver-adapter-utils'
import { Command, CommanderError } from 'commander'
import { backupCommand, restoreCommand } from './cli/backup.command.ts'
import { eventsCommand } from './cli/events.command.ts'
import { keysCommand, signingKeysCommand } from './cli/keys.command.ts'
import { mcpCommand } from './cli/mcp.command.ts'
import { migrateCommand } from './cli/migrate.command.ts'
import { serveCommand, workCommand } from './cli/process/process.command.ts'
import { schemaCommand } from './cli/schema.command.ts'
import { seedCommand, tenantsCommand } from './cli/tenants.command.ts'
import { exportCommand, importCommand } from './cli/transfer.command.ts'
import { usageCommand } from './cli/usage.command.ts'
import { verifyCommand } from './cli/verify.command.ts'
import { webhooksCommand } from './cli/webhooks.command.ts'
import { ConnectError, causeOf, isDatabaseUnavailable, isPermissionDenied, isServerLost } from './engine/db/errors.ts'
import { OperatorError } from './engine/errors.ts'
import { fullVersion } from './engine/telemetry/package-version.ts'

// A reader that stops early (`fusion keys list | head -1`) is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') process.stderr.write(`The output could not be written: ${error.message}\n`)
  process.exit(error.code === 'EPIPE' ? 0 : 1)
})

const program = new Command('fusion')
  .description('Fusion Gateway: GraphQL and REST over users, accounts, profiles and jobs')
  .exitOverride()
  .version(fullVersion(), '-V, --version', 'print the version, the commit and the version of Node')
  .showHelpAfterError('Run the command with --help for its usage.')

const commands = [
  ...[serveCommand(), workCommand()],
  ...[migrateCommand(), tenantsCommand(), keysCommand(), signingKeysCommand()],
  ...[eventsCommand(), usageCommand(), webhooksCommand(), mcpCommand(), verifyCommand()],
  ...[importCommand(), exportCommand(), backupCommand(), restoreCommand(), seedCommand(), schemaCommand()],
]
for (const command of commands) program.addCommand(command)
inheritExitOverride(program)

try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = report(error)
}

/** Exit codes: 0 success, 1 failure, 2 wrong usage. */
function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  process.stderr.write(`${explain(error)}\n`)
  return 1
}

/** The message of an error. A stack is printed only for defects. */
function explain(error: unknown): string {
  if (error instanceof OperatorError) return error.message
  if (isServerLost(error)) return `The database cannot be reached: ${reasonOf(error)}`
  if (isPermissionDenied(error)) {
    return `The database refused: ${reasonOf(error)}. See what a role needs with: npm run fusion -- migrate deploy --grants ROLE`
  }
  if (isDatabaseUnavailable(error) || isDriverAdapterError(error)) return `The database refused: ${reasonOf(error)}`
  // Errors of the system name the call and its arguments: "listen EACCES: permission denied".
  if (error instanceof Error && 'syscall' in error) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

/** What the database says: the message of the innermost cause, or of the connection that could not be made. */
function reasonOf(error: unknown): string {
  let reason = ''
  for (let cause = error; cause instanceof Object; cause = causeOf(cause)) {
    const { originalMessage, message } = cause as { readonly originalMessage?: string; readonly message?: string }
    reason = originalMessage || message || reason
    if (cause instanceof ConnectError) break
  }
  return reason
}

function inheritExitOverride(command: Command): void {
  for (const child of command.commands) inheritExitOverride(child.exitOverride())
}
