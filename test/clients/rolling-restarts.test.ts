import { ApolloClient, ApolloLink, gql, HttpLink, InMemoryCache } from '@apollo/client/core'
import { RetryLink } from '@apollo/client/link/retry'
import { createSend } from '@fusion-gateway/client/fetch'
import { fetchExchange, subscriptionExchange, Client as UrqlClient } from '@urql/core'
import { createClient as createEventClient } from 'graphql-sse'
import { createClient as createSocketClient } from 'graphql-ws'
import { tap } from 'rxjs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { settleEvents } from '../support/events.ts'
import { factoriesFor } from '../support/factories.ts'
import { startProxy, type TcpProxy } from '../support/proxy.ts'

let app: TestApp
let tenant: TestTenant
let gateway: TestApp
let proxy: TcpProxy

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  proxy = await startProxy(0)
  gateway = await startGateway()
})
afterAll(async () => {
  await gateway.close()
  await proxy.close()
  await app.close()
})

/** Starts a gateway, to which the proxy connects further clients. */
async function startGateway(): Promise<TestApp> {
  const started = await app.startAnother({})
  const url = await started.app.listen({ port: 0, host: '127.0.0.1' })
  proxy.retarget(Number(new URL(url).port))
  return started
}

/** Replaces the gateway: a new one serves before the old one stops. */
async function restart(): Promise<void> {
  const old = gateway
  gateway = await startGateway()
  await old.close()
}

interface Sink {
  next(result: { readonly data?: unknown; readonly errors?: unknown }): void
  error(error: unknown): void
  complete(): void
  /** The client has reached a gateway, which it must have before it waits for another one. */
  connected?(): void
}

interface Settings {
  /** The port of the proxy. */
  readonly port: number
  readonly headers: Record<string, string>
  readonly variables: Record<string, unknown>
}

const query = 'subscription Follow($after: ID) { events(after: $after, types: [USER_CREATED]) { id resourceId } }'

/** The clients read the variables again whenever they connect. */
function continueAfter(variables: Record<string, unknown>, { data }: { readonly data?: unknown }): void {
  const { events } = (data ?? {}) as { events?: { id?: string } }
  if (events?.id !== undefined) variables['after'] = events.id
}

/** So that the tests are short: the clients wait a second and more by default. A test can make them wait. */
let waiting = Promise.resolve()
const retryAtOnce = () => waiting

/** Subscribes with a client. Returns a function that ends the subscription. */
const clients: Record<string, (settings: Settings, sink: Sink) => () => unknown> = {
  'graphql-ws'({ port, headers, variables }, sink) {
    const client = createSocketClient({
      url: `ws://127.0.0.1:${port}/graphql`,
      connectionParams: headers,
      retryWait: retryAtOnce,
      // By default it ends when a connection cannot be opened, and counts the attempts, which are many without waits.
      shouldRetry: () => true,
      retryAttempts: Number.POSITIVE_INFINITY,
      on: { connected: () => sink.connected?.() },
    })
    client.subscribe({ query, variables }, sink)
    return () => client.dispose()
  },

  'graphql-sse'({ port, headers, variables }, sink) {
    const on = { connected: () => sink.connected?.() }
    const client = createEventClient({ url: `http://127.0.0.1:${port}/graphql`, headers, retry: retryAtOnce, on })
    client.subscribe({ query, variables }, sink)
    return () => client.dispose()
  },

  'urql, over graphql-sse'({ port, headers, variables }, sink) {
    const url = `http://127.0.0.1:${port}/graphql`
    const events = createEventClient({ url, headers, retry: retryAtOnce, on: { connected: () => sink.connected?.() } })
    const client = new UrqlClient({
      url,
      preferGetMethod: false,
      exchanges: [
        fetchExchange,
        subscriptionExchange({
          forwardSubscription: ({ query: document = '', variables = {} }) => ({
            subscribe: (observer) => ({
              unsubscribe: events.subscribe({ query: document, variables }, {
                ...observer,
                next: (result: Parameters<Sink['next']>[0]) => {
                  continueAfter(variables, result)
                  observer.next(result as never)
                },
              } as never),
            }),
          }),
        }),
      ],
    })
    const { unsubscribe } = client.subscription(query, variables).subscribe(({ data, error, hasNext }) => {
      if (error) sink.error(error)
      else sink.next({ data })
      if (!hasNext) sink.complete()
    })
    return unsubscribe
  },

  'Apollo Client, over its HttpLink'({ port, headers, variables }, sink) {
    const http = new HttpLink({ uri: `http://127.0.0.1:${port}/graphql`, headers })
    const client = new ApolloClient({
      link: ApolloLink.from([
        new RetryLink({ attempts: { max: Number.POSITIVE_INFINITY }, delay: { max: 1 } }),
        new ApolloLink((operation, forward) =>
          forward(operation).pipe(tap((result) => continueAfter(operation.variables, result))),
        ),
        http,
      ]),
      cache: new InMemoryCache(),
      devtools: { enabled: false },
    })
    const followed = client.subscribe({ query: gql(query), variables, fetchPolicy: 'no-cache' }).subscribe({
      next: ({ data, error }) => (error ? sink.error(error) : sink.next({ data })),
      error: (error) => sink.error(error),
      complete: () => sink.complete(),
    })
    // It waits for the first gateway, too.
    sink.connected?.()
    return () => {
      // `stop` alone leaves the RetryLink trying.
      followed.unsubscribe()
      client.stop()
    }
  },
}

/** Follows with a client, and collects the users of its events. */
function follow(subscribe: (typeof clients)[string], after: string) {
  const seen: string[] = []
  const ends: unknown[] = []
  let check = () => {}
  const connected = Promise.withResolvers<void>()
  const variables: Record<string, unknown> = { after }
  const settings = { port: proxy.port, headers: { 'x-api-key': tenant.key }, variables }
  const stop = subscribe(settings, {
    connected: () => connected.resolve(),
    next(result) {
      continueAfter(variables, result)
      seen.push((result.data as { events: { resourceId: string } }).events.resourceId)
      check()
    },
    error(error) {
      ends.push(error)
      check()
    },
    complete() {
      ends.push('complete')
      check()
    },
  })
  return {
    seen,
    ends,
    stop,
    connected: connected.promise,
    /** Resolves when it has seen the user, or has ended. */
    untilSeen: (id: string) =>
      new Promise<void>((resolve) => {
        check = () => (seen.includes(id) || ends.length > 0) && resolve()
        check()
      }),
  }
}

it('a client that has seen no event sees those of a restart, because it begins after the newest one', async () => {
  await factoriesFor(app, tenant).user()
  await settleEvents(app)
  const send = createSend({ url: `http://127.0.0.1:${proxy.port}/graphql`, apiKey: tenant.key })
  const { data } = await send<{ events: { nodes: { id: string }[] } }>('{ events(last: 1) { nodes { id } } }')
  const after = data.events.nodes[0]?.id
  const followers = Object.entries(clients).map(([name, client]) => ({ name, ...follow(client, String(after)) }))
  await Promise.all(followers.map(({ connected }) => connected))
  const gate = Promise.withResolvers<void>()
  waiting = gate.promise
  await gateway.close()
  const { id } = await factoriesFor(app, tenant).user()
  gateway = await startGateway()
  gate.resolve()
  await Promise.all(followers.map(({ untilSeen }) => untilSeen(id)))
  for (const { name, seen, ends } of followers) expect({ name, seen, ends }).toEqual({ name, seen: [id], ends: [] })
  for (const { stop } of followers) await stop()
})

it('every client sees every event once through two rolling restarts under writes, by its own retry', async () => {
  const { user } = factoriesFor(app, tenant)
  await user()
  await settleEvents(app)
  const { data } = await app.graphql<{ events: { nodes: { id: string }[] } }>(
    tenant,
    '{ events(last: 1) { nodes { id } } }',
  )
  const after = data.events.nodes[0]?.id ?? ''
  const followers = Object.entries(clients).map(([name, client]) => ({ name, ...follow(client, after) }))
  const created: string[] = []
  async function write(count: number): Promise<string> {
    for (let left = count; left > 0; left -= 1) created.push((await user()).id)
    return created.at(-1) ?? ''
  }
  const untilAllHaveSeen = (id: string) => Promise.all(followers.map(({ untilSeen }) => untilSeen(id)))

  await untilAllHaveSeen(await write(1))
  for (let restarts = 0; restarts < 2; restarts += 1) {
    const [last] = await Promise.all([write(20), restart()])
    await untilAllHaveSeen(last)
    await untilAllHaveSeen(await write(1))
  }

  expect(created).toHaveLength(1 + 2 * 21)
  for (const { name, seen, ends } of followers) expect({ name, seen, ends }).toEqual({ name, seen: created, ends: [] })
  for (const { stop } of followers) await stop()
})
