import { Argument, Command, InvalidArgumentError } from 'commander'
import { type EventType, eventTypes } from '../../domain/event/event.ts'
import { secretPrefix } from '../../domain/webhook/secrets.ts'
import type { ListenOptions } from '../actions/webhooks/listen.ts'
import type { TriggerOptions } from '../actions/webhooks/trigger.ts'
import type { Io } from '../io.ts'
import { readList, readUrl } from './option-values.ts'

const types = Object.keys(eventTypes) as EventType[]

export function webhooksCommand(io: Io): Command {
  const command = new Command('webhooks').description('list webhooks, and try an endpoint during development')

  command
    .command('list')
    .description('list the webhooks of a tenant, without their secrets')
    .requiredOption('--tenant <name>', 'the tenant')
    .action(async ({ tenant }: { readonly tenant: string }) =>
      (await import('../actions/webhooks/list.ts')).listWebhooks(io, tenant),
    )

  command
    .command('listen')
    .description(
      'print the events of your tenant, and forward them to an endpoint on this machine. FUSION_API_KEY is the key',
    )
    .option('--url <url>', 'the gateway', readUrl, 'http://127.0.0.1:4000')
    .option('--types <list>', 'only these types of events, separated by commas', readTypes)
    .option('--forward <url>', 'the endpoint', readUrl)
    .option('--secret <secret>', 'the secret that signs; a new one by default', readSecret)
    .action(async (options: ListenOptions) => (await import('../actions/webhooks/listen.ts')).listen(io, options))

  command
    .command('trigger')
    .addArgument(new Argument('<type>', 'the type of the event').choices(types))
    .description('send an example of an event to an endpoint')
    .option('--forward <url>', 'the endpoint', readUrl, 'http://localhost:3000/hook')
    .option('--secret <secret>', 'the secret that signs; a new one by default', readSecret)
    .action(async (type: EventType, options: TriggerOptions) =>
      (await import('../actions/webhooks/trigger.ts')).trigger(io, type, options),
    )

  return command
}

function readTypes(text: string): EventType[] {
  const given = readList(text)
  const unknown = given.find((type) => !types.some((known) => known === type))
  if (unknown === undefined) return given as EventType[]
  throw new InvalidArgumentError(`${unknown} is not a type of events. Types: ${types.join(', ')}.`)
}

function readSecret(text: string): string {
  if (new RegExp(`^${secretPrefix}[\\w+/]{32,88}={0,2}$`).test(text)) return text
  throw new InvalidArgumentError(`Give a secret: ${secretPrefix} and 24 to 64 bytes in base64.`)
}
