import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { TestApp, TestTenant } from '../support/app.ts'
import { addressOf, subscribe } from '../support/events.ts'

// Writers, and readers of the log that note what they receive, for tests of a distributed database while something
// happens to it.

export interface Writers {
  /** How many transactions ended in which way. An error can be that of a session that was killed. */
  readonly ended: Record<'committed' | 'overTwoTenants' | 'rolledBack' | 'failed', number>
  stop(): Promise<void>
}

const insert = `INSERT INTO "user" (tenant_app_id, id, name, email, updated_at) VALUES ($1, $2, 'A', 'a', now())`

/**
 * Writes users until it is stopped, in transactions of different lengths: of those with two writes some concern two
 * tenants, and some are rolled back.
 */
export function startWriters(url: string, tenants: readonly TestTenant[], count: number): Writers {
  const ended = { committed: 0, overTwoTenants: 0, rolledBack: 0, failed: 0 }
  let isOver = false
  let created = 0
  const anyTenant = () => tenants[Math.floor(Math.random() * tenants.length)]?.tenantAppId
  const nextId = () => {
    created += 1
    return `usr_load_${created}`
  }

  async function transact(client: pg.Client): Promise<keyof typeof ended> {
    const first = anyTenant()
    if (Math.random() < 0.4) {
      await client.query(insert, [first, nextId()])
      return 'committed'
    }
    const second = Math.random() < 0.3 ? anyTenant() : first
    await client.query('BEGIN')
    await client.query(insert, [first, nextId()])
    await sleep(Math.random() * 300)
    await client.query(insert, [second, nextId()])
    const isKept = Math.random() < 0.8
    await client.query(isKept ? 'COMMIT' : 'ROLLBACK')
    if (!isKept) return 'rolledBack'
    return second === first ? 'committed' : 'overTwoTenants'
  }

  async function write(): Promise<void> {
    let client = await connect(url)
    while (!isOver) {
      try {
        ended[await transact(client)] += 1
      } catch {
        ended.failed += 1
        await client.end().catch(() => undefined)
        client = await connect(url)
      }
    }
    await client.end().catch(() => undefined)
  }

  const writing = Promise.all(Array.from({ length: count }, write))
  return {
    ended,
    async stop() {
      isOver = true
      await writing
    },
  }
}

/** The name of the sessions of writers. */
export const writerName = 'writer'

async function connect(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString, application_name: writerName })
  client.on('error', () => undefined)
  await client.connect()
  return client
}

/** Reads the log of a tenant from now on. */
export interface Reader {
  readonly tenantAppId: string
  /** The ids of the events, in the order in which they came. */
  readonly received: string[]
  stop(): void
}

/** Reads through the feed of the gateway, as each subscription does. */
export async function followFeed({ services }: Pick<TestApp, 'services'>, tenant: TestTenant): Promise<Reader> {
  const follower = await services.events.follow(tenant)
  const received: string[] = []
  const read = async () => {
    for (let page = await follower.next(); page; page = await follower.next())
      received.push(...page.map(({ id }) => id))
  }
  read().catch(() => undefined)
  return { tenantAppId: tenant.tenantAppId, received, stop: () => follower.return() }
}

/** Reads by a subscription over a socket, which continues after the last event when it is broken. */
export async function followSocket(app: TestApp, tenant: TestTenant): Promise<Reader> {
  const address = await addressOf(app)
  const received: string[] = []
  const open = (after?: string) =>
    subscribe(address, tenant.key, 'subscription ($after: ID) { events(after: $after) { id } }', { after })
  let isOver = false
  let stream = await open()
  const read = async () => {
    while (!isOver) {
      const event = await stream.next().catch(() => undefined)
      const { id } = (event?.data?.data?.['events'] ?? {}) as { readonly id?: string }
      if (id !== undefined) received.push(id)
      else if (!isOver) {
        stream.close()
        await sleep(100)
        stream = await open(received.at(-1))
      }
    }
  }
  void read()
  return {
    tenantAppId: tenant.tenantAppId,
    received,
    stop() {
      isOver = true
      stream.close()
    },
  }
}
