import { Command } from 'commander'
import type { EventsOptions } from '../actions/events.ts'
import type { Io } from '../io.ts'
import { readSince } from './option-values.ts'

export function eventsCommand(io: Io): Command {
  return new Command('events')
    .description('list what has changed in a tenant, oldest first, and who changed it')
    .requiredOption('--tenant <name>', 'the tenant')
    .option('--key <id>', 'only changes by this key and its tokens')
    .option('--resource <id>', 'only changes of this user, account, profile or job')
    .option(
      '--since <when>',
      'a date (2027-01-31), a time (2027-01-31T08:00:00Z), or a time ago (15m, 12h, 90d)',
      readSince,
    )
    .option('--json', 'print a JSON object per line')
    .action(async (options: EventsOptions) => (await import('../actions/events.ts')).listEvents(io, options))
}
