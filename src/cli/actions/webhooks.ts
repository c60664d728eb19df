import { setTimeout as sleep } from 'node:timers/promises'
import { OperatorError } from '@fusion-gateway/base'
import { type Client, createClient } from 'graphql-ws'
import { WebSocket } from 'ws'
import { readConfig } from '../../config.ts'
import type { EventType } from '../../domain/event/event.ts'
import type { SentEvent } from '../../domain/webhook/delivery/delivery-store.ts'
import { payloadOf } from '../../domain/webhook/delivery/payload.ts'
import { createSender, signMessage } from '../../domain/webhook/delivery/send.ts'
import { generateSecret } from '../../domain/webhook/secrets.ts'
import type { Io } from '../io.ts'
import { printTable } from './terminal.ts'

interface ListenOptions {
  readonly url: string
  readonly types?: EventType[]
  readonly forward?: string
  readonly secret?: string
}

const eventFields = 'id type resourceId userId createdAt keyId requestId'
const subscription = `subscription ($after: ID, $types: [EventType!]) { events(after: $after, types: $types) { ${eventFields} } }`

/** The closings after which the gateway refuses another connection too: credentials, or a wrong address. */
const isFinal = (code: unknown) => typeof code === 'number' && code >= 4400 && code < 4500

/**
 * Prints the events of the tenant of FUSION_API_KEY until the process ends. Forwards them to an endpoint as a worker
 * does, signed, and shows the secret.
 */
export async function listen(io: Io, { url, types, forward, secret = generateSecret() }: ListenOptions): Promise<void> {
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
  const { send } = createSender({ allowPrivateNetworks: true, timeoutMilliseconds: 15_000 })
  if (forward !== undefined) io.stderr.write(`The secret that signs: ${secret}\n`)
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
        const cells = [event.id, event.type, event.resourceId]
        if (forward !== undefined) {
          const { status, error } = await send(forward, signMessage(event.id, payloadOf(event), [secret]))
          cells.push(error ?? String(status))
        }
        printTable(io.stdout, [], [cells])
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
