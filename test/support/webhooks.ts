import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { unlimited } from '@fusion-gateway/limits'
import { type StartDeliveriesOptions, startDeliveries } from '../../src/server/start-deliveries.ts'
import type { TestApp, TestTenant } from './app.ts'
import { settings } from './settings.ts'

/** A message that an endpoint has received. */
export interface ReceivedMessage {
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly path: string
}

/** An endpoint of a subscriber. */
export interface Receiver {
  readonly url: string
  readonly messages: ReceivedMessage[]
  /** Waits until it has received so many messages. */
  received(count: number): Promise<readonly ReceivedMessage[]>
  close(): Promise<void>
}

/** Starts an endpoint. */
export async function startReceiver(
  respond: (response: ServerResponse, message: ReceivedMessage) => void = (response) => response.writeHead(204).end(),
): Promise<Receiver> {
  const messages: ReceivedMessage[] = []
  const waiting = new Set<() => void>()
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const message = { headers: request.headers, body: Buffer.concat(chunks).toString(), path: request.url ?? '' }
    messages.push(message)
    respond(response, message)
    for (const check of waiting) check()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    messages,
    received: (count) =>
      new Promise((resolve) => {
        const check = () => {
          if (messages.length < count) return
          waiting.delete(check)
          resolve(messages)
        }
        waiting.add(check)
        check()
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

export const silentLog = { error: () => undefined, warn: () => undefined }

/** Starts the deliveries of a gateway, also to private networks. Returns what stops them. */
export function startDeliveriesOf(
  app: Pick<TestApp, 'services'>,
  options: Partial<StartDeliveriesOptions> = {},
): () => Promise<void> {
  const own = {
    ...settings,
    fetchPrivateNetworks: true,
    keyCacheMilliseconds: 0,
    logger: silentLog,
    rateLimit: unlimited,
  }
  const stop = startDeliveries(app.services, { ...own, ...options })
  return async () => stop?.(10_000)
}

export interface ShownWebhook {
  readonly id: string
  readonly url: string
  readonly eventTypes: string[]
  readonly query: string | null
  readonly description: string | null
  readonly enabled: boolean
  readonly disabledReason: string | null
}

export interface ShownDelivery {
  readonly eventId: string
  readonly eventType: string
  readonly status: string
  readonly attempts: number
  readonly nextAttemptAt: string | null
  readonly responseStatus: number | null
  readonly error: string | null
}

interface WebhookPayload {
  readonly webhook: ShownWebhook | null
  readonly secret?: string | null
  readonly deletedWebhookId?: string | null
  readonly userErrors: { code: string; field: string[]; message: string }[]
}

const fields = 'id url eventTypes query description enabled disabledReason'
const results: Record<string, string> = {
  createWebhook: `webhook { ${fields} } secret`,
  rotateWebhookSecret: `webhook { ${fields} } secret`,
  deleteWebhook: 'deletedWebhookId',
}

/** Calls the mutations and queries of webhooks as a client does. */
export function webhookClient(app: Pick<TestApp, 'graphql'>, tenant: TestTenant) {
  async function call(mutation: string, input: Record<string, unknown>): Promise<WebhookPayload> {
    const type = `${mutation.charAt(0).toUpperCase()}${mutation.slice(1)}Input`
    const selection = results[mutation] ?? `webhook { ${fields} }`
    const query = `mutation ($input: ${type}!) { ${mutation}(input: $input) { ${selection} userErrors { code field message } } }`
    const { data, errors } = await app.graphql<Record<string, WebhookPayload>>(tenant, query, { input })
    if (errors) throw new Error(JSON.stringify(errors))
    return data[mutation] as WebhookPayload
  }

  return {
    call,
    /** Creates a webhook for new users. */
    async create(url: string, given: Record<string, unknown> = {}) {
      const { webhook, secret, userErrors } = await call('createWebhook', {
        url,
        eventTypes: ['USER_CREATED'],
        ...given,
      })
      if (!webhook || !secret) throw new Error(JSON.stringify(userErrors))
      return { ...webhook, secret }
    },
    async show(id: string): Promise<ShownWebhook> {
      const { data } = await app.graphql<{ webhook: ShownWebhook }>(
        tenant,
        `query ($id: ID!) { webhook(id: $id) { ${fields} } }`,
        { id },
      )
      return data.webhook
    },
    async deliveries(id: string): Promise<ShownDelivery[]> {
      const { data } = await app.graphql<{ webhook: { deliveries: { nodes: ShownDelivery[] } } }>(
        tenant,
        `query ($id: ID!) { webhook(id: $id) { deliveries(first: 100) {
          nodes { eventId eventType status attempts nextAttemptAt responseStatus error } } } }`,
        { id },
      )
      return data.webhook.deliveries.nodes
    },
  }
}
