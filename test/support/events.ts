import type { TestApp, TestTenant } from './app.ts'
import { jobFields, type ShownJob } from './jobs.ts'
import { isDistributed } from './postgresql.ts'

/** A stream of server-sent events. */
export interface EventStream {
  readonly status: number
  readonly headers: Headers
  /** The next event; undefined when the stream has ended. */
  next(): Promise<ServerSentEvent | undefined>
  close(): void
}

export interface ServerSentEvent {
  readonly event: string
  readonly data: { data?: Record<string, unknown>; errors?: { extensions: Record<string, unknown> }[] } | undefined
}

/**
 * Sends a subscription to a listening gateway.
 *
 * @param credentials the API key, or another header
 */
export async function subscribe(
  address: string,
  credentials: string | { readonly authorization: string },
  query: string,
  variables?: Record<string, unknown>,
  extensions?: Record<string, unknown>,
): Promise<EventStream> {
  const aborted = new AbortController()
  const own = typeof credentials === 'string' ? { 'x-api-key': credentials } : credentials
  const response = await fetch(`${address}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...own },
    body: JSON.stringify({ query, variables, extensions }),
    signal: aborted.signal,
  })
  const events = readEvents(response)
  return {
    status: response.status,
    headers: response.headers,
    next: async () => (await events.next()).value,
    close: () => aborted.abort(),
  }
}

async function* readEvents({ body }: Response): AsyncGenerator<ServerSentEvent, undefined> {
  let text = ''
  for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk
    for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
      const lines = text.slice(0, end).split('\n')
      text = text.slice(end + 2)
      const field = (name: string) =>
        lines
          .find((line) => line.startsWith(`${name}:`))
          ?.slice(name.length + 1)
          .trim()
      const event = field('event')
      // A line that begins with a colon only keeps the connection alive.
      if (event !== undefined) yield { event, data: JSON.parse(field('data') || 'null') ?? undefined }
    }
  }
  return undefined
}

/**
 * Waits until all events so far can be read: until the transactions that run now have ended, those of other tests on
 * the server too.
 */
export async function settleEvents({ database }: TestApp): Promise<void> {
  if (isDistributed) {
    const readEach = (column: string) =>
      database.prisma.$queryRawUnsafe<{ nodeid: number; result: string }[]>(
        `SELECT nodeid, result FROM run_command_on_all_nodes('SELECT ${column} FROM event_horizon()') ORDER BY nodeid`,
      )
    const begun = await readEach('begun')
    const isSettled = async () =>
      (await readEach('complete')).every(({ result }, index) => result >= (begun[index]?.result ?? ''))
    while (!(await isSettled())) await new Promise((resolve) => setImmediate(resolve))
    return
  }
  const readHorizon = async () => {
    const [row] = await database.prisma.$queryRaw<{ complete: string; begun: string }[]>`SELECT * FROM event_horizon()`
    return row ?? { complete: '', begun: '' }
  }
  const { begun } = await readHorizon()
  while ((await readHorizon()).complete < begun) await new Promise((resolve) => setImmediate(resolve))
}

const addresses = new WeakMap<TestApp, Promise<string>>()

/** Returns the address of a gateway. The first call makes the gateway listen. */
export function addressOf(app: TestApp): Promise<string> {
  const address = addresses.get(app) ?? app.app.listen({ host: '127.0.0.1', port: 0 })
  addresses.set(app, address)
  return address
}

/** Follows a job until it meets the condition. */
export async function follow(
  app: TestApp,
  tenant: TestTenant,
  id: string,
  isMet: (job: ShownJob) => boolean,
): Promise<ShownJob> {
  const query = `subscription ($id: ID!) { job(id: $id) { ${jobFields} } }`
  const events = await subscribe(await addressOf(app), tenant.key, query, { id })
  try {
    for (;;) {
      const event = await events.next()
      const job = event?.data?.data?.['job'] as ShownJob | null | undefined
      if (!job) throw new Error(`The job is missing: ${JSON.stringify(event)}`)
      if (isMet(job)) return job
    }
  } finally {
    events.close()
  }
}
