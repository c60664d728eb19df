import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Argument, Command, InvalidArgumentError } from 'commander'
import { type Client, createClient } from 'graphql-ws'
import { WebSocket } from 'ws'
import { readConfig } from '../config.ts'
import { type EventType, eventTypes } from '../domain/event/event.ts'
import { findTenant } from '../domain/tenant/tenant.service.ts'
import type { SentEvent } from '../domain/webhook/delivery/delivery-store.ts'
import { payloadOf } from '../domain/webhook/delivery/payload.ts'
import { createSender } from '../domain/webhook/delivery/send.ts'
import { signMessage } from '../domain/webhook/delivery/sign.ts'
import { generateSecret, secretPrefix } from '../domain/webhook/secrets.ts'
import type { Database } from '../engine/db/database.ts'
import { OperatorError } from '../engine/errors.ts'
import { readList, readUrl } from './option-values.ts'
import { printTable } from './terminal.ts'
import { withMigratedDatabase } from './with-database.ts'

interface ForwardOptions {
  readonly forward?: string
  readonly secret?: string
}

interface ListenOptions extends ForwardOptions {
  readonly url: string
  readonly types?: EventType[]
}

const types = Object.keys(eventTypes) as EventType[]

export function webhooksCommand(): Command {
  const command = new Command('webhooks').description('list webhooks, and try an endpoint during development')

  command
    .command('list')
    .description('list the webhooks of a tenant, without their secrets')
    .requiredOption('--tenant <name>', 'the tenant')
    .action(({ tenant }: { readonly tenant: string }) => withMigratedDatabase((database) => list(database, tenant)))

  command
    .command('listen')
    .description(
      'print the events of your tenant, and forward them to an endpoint on this machine. FUSION_API_KEY is the key',
    )
    .option('--url <url>', 'the gateway', readUrl, 'http://127.0.0.1:4000')
    .option('--types <list>', 'only these types of events, separated by commas', readTypes)
    .option('--forward <url>', 'the endpoint', readUrl)
    .option('--secret <secret>', 'the secret that signs; a new one by default', readSecret)
    .action(listen)

  command
    .command('trigger')
    .addArgument(new Argument('<type>', 'the type of the event').choices(types))
    .description('send an example of an event to an endpoint')
    .option('--forward <url>', 'the endpoint', readUrl, 'http://localhost:3000/hook')
    .option('--secret <secret>', 'the secret that signs; a new one by default', readSecret)
    .action(trigger)

  return command
}

async function list(database: Database, name: string): Promise<void> {
  const { id: tenantAppId } = await findTenant(database, name)
  const webhooks = await database.prisma.webhook.findMany({ where: { tenantAppId }, orderBy: { createdAt: 'asc' } })
  const stateOf = ({ enabled, failingSince }: (typeof webhooks)[number]) =>
    enabled ? (failingSince ? `failing since ${failingSince.toISOString()}` : 'enabled') : 'disabled'
  printTable(
    ['ID', 'URL', 'EVENTS', 'KEY', 'STATE', 'REASON'],
    webhooks.map((webhook) => [
      ...[webhook.id, webhook.url, webhook.eventTypes.join(','), webhook.keyId],
      ...[stateOf(webhook), webhook.disabledReason ?? '-'],
    ]),
  )
}

const eventFields = 'id type resourceId userId createdAt keyId requestId'
const subscription = `subscription ($after: ID, $types: [EventType!]) { events(after: $after, types: $types) { ${eventFields} } }`

/** The closings after which the gateway refuses another connection too: credentials, or a wrong address. */
const isFinal = (code: unknown) => typeof code === 'number' && code >= 4400 && code < 4500

async function listen({ url, types, ...options }: ListenOptions): Promise<void> {
  const { apiKey } = readConfig()
  if (apiKey === undefined) throw new OperatorError('Set FUSION_API_KEY to an API key with the scope events:read.')
  const client = createClient({
    url: new URL('/graphql', url).href.replace(/^http/, 'ws'),
    connectionParams: { 'x-api-key': apiKey },
    retryAttempts: 0,
    lazyCloseTimeout: 1_000,
    // Node's own does not say why there is no connection.
    webSocketImpl: WebSocket,
    on: { connected: () => process.stderr.write(`Listening to ${url}. Ctrl-C ends it.\n`) },
  })
  const { send } = createForwarder(options)
  let after: string | undefined
  for (let hasConnected = false; ; ) {
    try {
      // What happens while the connection is lost comes after it.
      after ??= await findNewest(client)
      hasConnected = true
      for await (const { data, errors } of client.iterate<{ events: SentEvent }>({
        query: subscription,
        variables: { after, types },
      })) {
        if (!data) throw refusal(errors)
        const event = { ...data.events, createdAt: new Date(data.events.createdAt) }
        const result = await send(event)
        printTable([], [[event.id, event.type, event.resourceId, ...(result === undefined ? [] : [result])]])
        after = event.id
      }
    } catch (error) {
      throwIfFinal(error)
      if (!hasConnected) throw new OperatorError(`${url} cannot be reached: ${reasonOf(error)}`)
      process.stderr.write(`The connection is lost: ${reasonOf(error)}. Trying again.\n`)
    }
    await sleep(1_000)
  }
}

/** The id of the newest event; undefined if there is none. */
async function findNewest(client: Client): Promise<string | undefined> {
  const query = '{ events(last: 1) { nodes { id } } }'
  for await (const { data, errors } of client.iterate<{ events: { nodes: { id: string }[] } }>({ query })) {
    if (!data) throw refusal(errors)
    return data.events.nodes[0]?.id
  }
  return undefined
}

function refusal(errors: readonly { readonly message: string }[] = []): OperatorError {
  return new OperatorError(`The gateway refused: ${errors.map(({ message }) => message).join(' ')}`)
}

/** Why there is no connection: the message of an error of ws, or the code and reason with which the gateway closed it. */
function reasonOf(error: unknown): string {
  const { message, code, reason } = error as { message?: string; code?: number; reason?: string }
  return message || reason || `code ${code}`
}

/** @throws OperatorError if another attempt cannot succeed */
function throwIfFinal(error: unknown): void {
  if (error instanceof OperatorError) throw error
  const { code, reason } = error as { readonly code?: unknown; readonly reason?: string }
  if (isFinal(code)) throw new OperatorError(`The gateway refused: ${reason}`)
  // graphql-ws reports the errors of an operation as a list.
  if (Array.isArray(error)) throw refusal(error)
}

async function trigger(type: EventType, options: ForwardOptions): Promise<void> {
  const { send, close } = createForwarder(options)
  const result = await send(exampleOf(type))
  await close()
  if (!result?.startsWith('2')) throw new OperatorError(`${options.forward}: ${result}`)
  process.stdout.write(`${result}\n`)
}

/** The prefixes of the ids of the resources that events are about. */
const prefixes: Readonly<Record<string, string>> = {
  USER: 'usr',
  ACCOUNT: 'acc',
  PROFILE: 'prf',
  JOB: 'job',
  WEBHOOK: 'whk',
}

function exampleOf(type: EventType): SentEvent {
  const [resource = ''] = type.split('_')
  const isOfUser = ['USER', 'ACCOUNT', 'PROFILE'].includes(resource)
  return {
    ...{ id: `evt_${randomBytes(12).toString('hex')}`, type, resourceId: `${prefixes[resource]}_example` },
    ...{ userId: isOfUser ? 'usr_example' : null, keyId: null, requestId: null, createdAt: new Date() },
  }
}

/** Creates what signs events and sends them to an endpoint, as a worker does. Shows the secret if it is a new one. */
function createForwarder({ forward, secret = generateSecret() }: ForwardOptions) {
  const { send, close } = createSender({ allowPrivateNetworks: true, timeoutMilliseconds: 15_000 })
  if (forward !== undefined) process.stderr.write(`The secret that signs: ${secret}\n`)
  return {
    close,
    /** Returns the status, or why there is none; undefined without an endpoint. */
    async send(event: SentEvent): Promise<string | undefined> {
      if (forward === undefined) return undefined
      const { status, error } = await send(forward, signMessage(event.id, payloadOf(event), [secret]))
      return error ?? String(status)
    },
  }
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
