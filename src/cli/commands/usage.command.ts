import { Command, Option } from 'commander'
import type { UsageOptions } from '../actions/usage.ts'
import type { Io } from '../io.ts'

export function usageCommand(io: Io): Command {
  return new Command('usage')
    .description('list who has requested what, most requests first, as long as usage is kept')
    .option('--tenant <name>', 'only this tenant')
    .option('--field <Type.field>', 'only operations that select this field of the schema')
    .option('--operation <name>', 'only operations with this name')
    .addOption(new Option('--deprecated', 'list the deprecated fields instead').conflicts(['field', 'operation']))
    .option('--json', 'print a JSON object per line')
    .action(async (options: UsageOptions, command: Command) => {
      const { isField, listUsage } = await import('../actions/usage.ts')
      if (options.field !== undefined && !isField(options.field)) {
        const reason = 'Give a field of an object or interface of the schema, such as User.email.'
        command.error(`error: option '--field <Type.field>' argument '${options.field}' is invalid. ${reason}`)
      }
      await listUsage(io, options)
    })
}
