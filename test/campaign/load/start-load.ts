import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom } from '../../../src/domain/seed/seed.ts'
import type { MarkedTenant } from '../../soak/tenants.ts'
import type { Ledger } from '../ledger.ts'
import { type ClientOptions, createClient } from './client.ts'
import { createJobs } from './create-jobs.ts'
import { type Follows, followJobs } from './follow-jobs.ts'
import { listUsers } from './list-users.ts'
import { type Reads, readUsers } from './read-users.ts'
import { workOverHttp } from './work-over-http.ts'
import type { WriterOptions } from './write.ts'
import { writeUsers } from './write-users.ts'

/** Clients that send requests. */
export interface Load {
  readonly reads: Reads
  readonly follows: Follows
  /** Resolves when every write is acknowledged. */
  stopWriting(): Promise<void>
  /** Stops the other clients. Call it when all jobs have ended. */
  stop(): Promise<void>
}

export interface LoadOptions extends Omit<ClientOptions, 'random' | 'end'> {
  readonly tenants: readonly MarkedTenant[]
  readonly ledger: Ledger
  readonly seed: number
}

/** How long clients may take to end when nothing disturbs them any longer. */
const endMilliseconds = 60_000

/** Starts the clients of all tenants: writers, readers, workers over HTTP and subscribers. */
export function startLoad({ tenants, ledger, seed, ...options }: LoadOptions): Load {
  const { gateways, note } = options
  const reads: Reads = { sent: 0, answered: 0 }
  const follows: Follows = { begun: 0, ended: 0, open: new Set() }
  const writing = new AbortController()
  const working = new AbortController()
  const end = new AbortController()
  let clients = 0

  function start(run: (options: WriterOptions) => Promise<void>): Promise<void> {
    clients += 1
    const client = createClient({ ...options, random: createRandom(seed + clients), end: end.signal })
    return run({ client, ledger, note }).catch((error: Error) => note(`a client stopped: ${error.stack}`))
  }
  const ofEachTenant = (...runs: ((options: WriterOptions, tenant: MarkedTenant) => Promise<void>)[]) =>
    tenants.flatMap((tenant) => runs.map((run) => start((client) => run(client, tenant))))

  const write = (client: WriterOptions, tenant: MarkedTenant) => writeUsers(client, tenant, writing.signal)
  const read = (client: WriterOptions, tenant: MarkedTenant) => readUsers(client, tenant, reads, working.signal)
  const writers = ofEachTenant(write, write, (client, tenant) => createJobs(client, tenant, writing.signal))
  const others = ofEachTenant(
    read,
    read,
    (client, tenant) => listUsers(client, tenant, reads, working.signal),
    (client, tenant) => workOverHttp(client, tenant, working.signal),
    (client) => followJobs(client, gateways, follows, working.signal, end.signal),
  )

  return {
    reads,
    follows,
    async stopWriting() {
      writing.abort()
      const timer = setTimeout(() => end.abort(), endMilliseconds)
      await Promise.all(writers)
      clearTimeout(timer)
    },
    async stop() {
      working.abort()
      await Promise.race([Promise.all(others), sleep(endMilliseconds, undefined, { ref: false })])
      end.abort()
      for (const id of follows.open) note(`${id} ended, and its subscriber did not see it`)
    },
  }
}
