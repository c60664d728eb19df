import { Command, CommanderError } from 'commander'
import { fullVersion } from '../engine/telemetry/package-version.ts'
import { backupCommand, restoreCommand } from './commands/backup.command.ts'
import { eventsCommand } from './commands/events.command.ts'
import { keysCommand, signingKeysCommand } from './commands/keys.command.ts'
import { mcpCommand } from './commands/mcp.command.ts'
import { migrateCommand } from './commands/migrate.command.ts'
import { serveCommand, workCommand } from './commands/process.command.ts'
import { schemaCommand } from './commands/schema.command.ts'
import { seedCommand, tenantsCommand } from './commands/tenants.command.ts'
import { exportCommand, importCommand } from './commands/transfer.command.ts'
import { usageCommand } from './commands/usage.command.ts'
import { verifyCommand } from './commands/verify.command.ts'
import { webhooksCommand } from './commands/webhooks.command.ts'
import type { Io, Output } from './io.ts'

// The files in commands/ say what each command accepts, and load almost nothing. A command that runs imports its file
// in actions/ or process/, and with it the gateway's code: without that, `fusion --help` would take seconds.

const commands = [
  serveCommand,
  workCommand,
  migrateCommand,
  tenantsCommand,
  keysCommand,
  signingKeysCommand,
  eventsCommand,
  usageCommand,
  webhooksCommand,
  mcpCommand,
  verifyCommand,
  importCommand,
  exportCommand,
  backupCommand,
  restoreCommand,
  seedCommand,
  schemaCommand,
]

/** Creates the command `fusion`. It throws a CommanderError where it would end the process. */
export function createProgram(io: Io): Command {
  const program = new Command('fusion')
    .description('Fusion Gateway: GraphQL and REST over users, accounts, profiles and jobs')
    .showHelpAfterError('Run the command with --help for its usage.')
    .option('-V, --version', 'print the version, the commit and the version of Node')
    .on('option:version', () => {
      io.stdout.write(`${fullVersion()}\n`)
      throw new CommanderError(0, 'commander.version', 'version')
    })
  for (const create of commands) program.addCommand(create(io))
  useIo(program, io)
  return program
}

/** Lets a command and those below it write to `io`, and throw where they would end the process. */
function useIo(command: Command, io: Io): void {
  const { stdout, stderr } = io
  command.exitOverride().configureOutput({
    writeOut: (text) => stdout.write(text),
    writeErr: (text) => stderr.write(text),
    getOutHelpWidth: () => widthOf(stdout),
    getErrHelpWidth: () => widthOf(stderr),
  })
  for (const child of command.commands) useIo(child, io)
}

function widthOf({ isTTY, columns = 80 }: Output): number {
  return isTTY ? columns : 80
}
