import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, createClient } from 'graphql-ws'
import { WebSocket } from 'ws'
import { readConfig } from '../../config.ts'
import type { EventType } from '../../domain/event/event.ts'
import { findTenant } from '../../domain/tenant/tenant.service.ts'
import type { SentEvent } from '../../domain/webhook/delivery/delivery-store.ts'
import { payloadOf } from '../../domain/webhook/delivery/payload.ts'
import { createSender, signMessage } from '../../domain/webhook/delivery/send.ts'
import { generateSecret } from '../../domain/webhook/secrets.ts'
import { OperatorError } from '../../engine/errors.ts'
import type { Io } from '../io.ts'
import { printTable } from './terminal.ts'
import { withMigratedDatabase } from './with-database.ts'

export interface ListenOptions extends ForwardOptions {
  readonly url: string
  readonly types?: EventType[]
}

const eventFields = 'id type resourceId userId createdAt keyId requestId'
const subscription = `subscription ($after: ID, $types: [EventType!]) { events(after: $after, types: $types) { ${eventFields} } }`

/** The closings after which the gateway refuses another connection too: credentials, or a wrong address. */
const isFinal = (code: unknown) => typeof code === 'number' && code >= 4400 && code < 4500

/** Prints the events of the tenant of FUSION_API_KEY, and forwards them, until the process ends. */
export async function listen(io: Io, { url, types, ...options }: ListenOptions): Promise<void> {
  const { apiKey } = readConfig(io.env)
  if (apiKey === undefined) throw new OperatorError('Set FUSION_API_KEY to an API key with the scope events:read.')
  const client = createClient({
    url: new URL('/graphql', url).href.replace(/^http/, 'ws'),
    connectionParams: { 'x-api-key': apiKey },
    retryAttempts: 0,
    lazyCloseTimeout: 1_000,
    // Node's own does not say why there is no connection.
    webSocketImpl: WebSocket,
    on: { connected: () => io.stderr.write(`Listening to ${url}. Ctrl-C ends it.\n`) },
  })
  const { send } = createForwarder(io, options)
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
        printTable(io.stdout, [], [[event.id, event.type, event.resourceId, ...(result === undefined ? [] : [result])]])
        after = event.id
      }
    } catch (error) {
      throwIfFinal(error)
      if (!hasConnected) throw new OperatorError(`${url} cannot be reached: ${reasonOf(error)}`)
      io.stderr.write(`The connection is lost: ${reasonOf(error)}. Trying again.\n`)
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

/**
 * Why there is no connection: the message of an error of ws, or the code and reason with which the gateway closed it.
 */
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

export interface ForwardOptions {
  readonly forward?: string
  readonly secret?: string
}

/** Signs events and sends them to an endpoint, as a worker does. Shows the secret if it is a new one. */
export function createForwarder({ stderr }: Io, { forward, secret = generateSecret() }: ForwardOptions) {
  const { send, close } = createSender({ allowPrivateNetworks: true, timeoutMilliseconds: 15_000 })
  if (forward !== undefined) stderr.write(`The secret that signs: ${secret}\n`)
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

export function listWebhooks(io: Io, tenant: string): Promise<void> {
  return withMigratedDatabase(io, async (database) => {
    const { id: tenantAppId } = await findTenant(database, tenant)
    const webhooks = await database.prisma.webhook.findMany({ where: { tenantAppId }, orderBy: { createdAt: 'asc' } })
    const stateOf = ({ enabled, failingSince }: (typeof webhooks)[number]) =>
      enabled ? (failingSince ? `failing since ${failingSince.toISOString()}` : 'enabled') : 'disabled'
    printTable(
      io.stdout,
      ['ID', 'URL', 'EVENTS', 'KEY', 'STATE', 'REASON'],
      webhooks.map((webhook) => [
        webhook.id,
        webhook.url,
        webhook.eventTypes.join(','),
        webhook.keyId,
        stateOf(webhook),
        webhook.disabledReason ?? '-',
      ]),
    )
  })
}

export type TriggerOptions = ForwardOptions

/** Sends an example of an event to an endpoint. */
export async function trigger(io: Io, type: EventType, options: TriggerOptions): Promise<void> {
  const { send, close } = createForwarder(io, options)
  const result = await send(exampleOf(type))
  await close()
  if (!result?.startsWith('2')) throw new OperatorError(`${options.forward}: ${result}`)
  io.stdout.write(`${result}\n`)
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
    id: `evt_${randomBytes(12).toString('hex')}`,
    type,
    resourceId: `${prefixes[resource]}_example`,
    userId: isOfUser ? 'usr_example' : null,
    keyId: null,
    requestId: null,
    createdAt: new Date(),
  }
}
