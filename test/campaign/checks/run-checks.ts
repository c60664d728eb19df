import { createRandom } from '../../../src/domain/seed/seed.ts'
import { findLeakedConnections } from '../../soak/connections.ts'
import { usedHeap } from '../../soak/heap.ts'
import type { Ledger } from '../ledger.ts'
import { type ClientOptions, createClient } from '../load/client.ts'
import type { System } from '../processes/start-system.ts'
import { checkDatabase } from './check-database.ts'
import { checkJobs } from './check-jobs.ts'
import { checkUsers } from './check-users.ts'

/** What the processes used. */
export interface Usage {
  /** The attempts of all jobs. */
  readonly attempts: number
  /** The peak of each process, in MiB. */
  readonly memory: readonly { readonly name: string; readonly peak: number }[]
  /** The used heap of each gateway, in bytes. */
  readonly heaps: readonly number[]
}

/** The same as in `test/faults/neighbours.postgres.test.ts`. */
const maxMemory = 1_536

/** A gateway uses less than half of it when nothing is under way. */
const maxHeap = 192 * 1024 * 1024

/** Compares what is stored with the ledger, and looks for leaks. No requests may be under way. */
export async function runChecks(
  { cluster: { url }, tenants, gateways, workers }: System,
  ledger: Ledger,
  options: Omit<ClientOptions, 'random' | 'end'>,
): Promise<Usage> {
  const { note } = options
  const client = createClient({ ...options, random: createRandom(0), end: new AbortController().signal })
  for (const tenant of tenants) {
    await checkUsers(client, tenant, ledger, note)
    await checkJobs(client, tenant, ledger, note)
  }
  const { attempts, problems } = await checkDatabase(url)
  const leaked = await findLeakedConnections(options.gateways, url)
  for (const problem of [...problems, ...leaked]) note(problem)
  const heaps: number[] = []
  for (const { name, output } of gateways) {
    const heap = await usedHeap(output())
    if (heap > maxHeap) note(`${name} uses a heap of ${heap} bytes although no request is under way`)
    heaps.push(heap)
  }
  const memory = [...gateways, ...workers].map(({ name, memory }) => ({ name, peak: memory() }))
  for (const { name, peak } of memory) if (peak > maxMemory) note(`${name} used ${peak} MiB`)
  return { attempts, memory, heaps }
}
