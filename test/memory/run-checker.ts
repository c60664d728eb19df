import type { Database } from '@fusion-gateway/database'
import { createRandom } from '../../src/domain/seed/seed.ts'
import { type Client, createClient, type Place } from './client.ts'
import type { DirectSql } from './direct-sql.ts'
import type { Problem } from './observation.ts'
import type { Person, Tenant } from './people.ts'
import { checkResponse, hasDeletedRow, observe, type Read, shapes } from './shapes.ts'
import { type Means, untilSettled, write } from './write.ts'

export interface CheckerOptions {
  readonly places: readonly Place[]
  readonly sql: DirectSql
  /** What imports write to. */
  readonly database: Database
  readonly tenants: readonly Tenant[]
  readonly readers: number
  readonly writers: number
  readonly seed: number
  /** How many reads are sent between two writes of a writer, on average. */
  readonly readsPerWrite: number
  /** Whether the checker goes on. It is asked after each read. */
  isOver(counts: Counts): boolean
  /** Whether requests may fail now, because the server is restarted. */
  mayFail?(): boolean
}

export interface Counts {
  reads: number
  /** Reads whose response came from memory. */
  hits: number
  /** Reads that were looked for in memory, and not found. */
  misses: number
  writes: number
  /** Reads that showed what was true before they were sent. */
  stale: number
  /** Reads that showed what was never true, or is not for their viewer. */
  wrong: number
  /** Reads that met the deletion of a row between two of their statements. */
  torn: number
  /** Reads and writes that failed while the server was restarted. */
  failed: number
}

export interface CheckerResult extends Counts {
  /** Descriptions of the first problems. */
  readonly problems: readonly string[]
}

const maxProblems = 10

/** Readers repeat a read so often at most, so that it is kept and found. */
const maxRepetitions = 16

/**
 * Writes increasing numbers and reads them meanwhile. Each read must show what was acknowledged before it was sent, or
 * later numbers, and only what its viewer may see.
 */
export async function runChecker(options: CheckerOptions): Promise<CheckerResult> {
  const { places, sql, database, tenants, seed, readsPerWrite, mayFail = () => false } = options
  const counts: Counts = { reads: 0, hits: 0, misses: 0, writes: 0, stale: 0, wrong: 0, torn: 0, failed: 0 }
  const problems: string[] = []
  const clients = places.map(({ address }) => createClient(address, options.readers + options.writers))
  const isOver = () => options.isOver(counts) || problems.length >= maxProblems
  /** The number of reads when requests could last fail. */
  let faultAt = -1
  let waiting: { readonly at: number; readonly resolve: () => void }[] = []

  /** Continues the writers that wait for so many reads, or all of them at the end. */
  function wake(): void {
    const isEnd = isOver()
    if (mayFail()) faultAt = counts.reads
    const due = waiting.filter(({ at }) => isEnd || at <= counts.reads)
    if (due.length === 0) return
    waiting = waiting.filter((one) => !due.includes(one))
    for (const { resolve } of due) resolve()
  }

  function untilReads(number: number): Promise<void> {
    return new Promise((resolve) => {
      waiting.push({ at: counts.reads + number, resolve })
      wake()
    })
  }

  function note(read: Read, { address }: Place, cacheStatus: string, found: readonly Problem[]): void {
    const isStale = found.some(({ kind }) => kind === 'stale')
    counts[isStale ? 'stale' : 'wrong'] += 1
    const texts = found.slice(0, 3).map(({ kind, text }) => `${kind}: ${text}`)
    problems.push(`${address} ${read.key} (${cacheStatus || 'no cache-status'})\n  ${texts.join('\n  ')}`)
  }

  async function readOnce(read: Read, index: number, asksForChange: boolean): Promise<void> {
    const [client, place] = [clients[index] as Client, places[index] as Place]
    const observation = observe(read, place.sees)
    const reply = await client.read(read, asksForChange).catch((error: Error) => ({
      status: 599,
      text: error.message,
      cacheStatus: '',
    }))
    counts.reads += 1
    const isUnavailable = reply.text.includes('"SERVICE_UNAVAILABLE"') && !hasDeletedRow(reply.text)
    const hasFailed = reply.status >= 500 || isUnavailable
    if (hasFailed && mayFail()) counts.failed += 1
    else if (hasFailed) note(read, place, '', [{ kind: 'wrong', text: `${reply.status} ${reply.text.slice(0, 500)}` }])
    else {
      if (/\bhit\b/.test(reply.cacheStatus)) counts.hits += 1
      else if (/\bfwd=/.test(reply.cacheStatus)) counts.misses += 1
      checkResponse(read, observation, reply)
      if (observation.isTorn) counts.torn += 1
      if (observation.problems.length > 0) note(read, place, reply.cacheStatus, observation.problems)
    }
    wake()
  }

  const pickRead = (random: Means['random'], person: Person): Read =>
    random.pick(shapes)(random.pick(person.tenant.viewers), person, random)

  async function startReader(number: number): Promise<void> {
    const random = createRandom(seed * 1_009 + number)
    while (!isOver()) {
      const { people } = random.pick(tenants)
      // Some people are read more often than others.
      const person = people[random.below(1 + random.below(people.length))] as Person
      const shape = random.pick(shapes)
      const { viewers } = person.tenant
      const read = shape(random.pick(viewers), person, random)
      const index = random.below(places.length)
      const isElsewhere = random.below(4) === 0
      for (let left = 1 + random.below(maxRepetitions); left > 0 && !isOver(); left -= 1)
        await readOnce(
          // Others read the same meanwhile.
          random.below(4) === 0 ? shape(random.pick(viewers), person, random) : read,
          isElsewhere ? random.below(places.length) : index,
          random.below(2) === 0,
        )
    }
    // At the end, no further read does it.
    wake()
  }

  async function startWriter(number: number): Promise<void> {
    const random = createRandom(seed * 2_003 + number)
    const all = tenants.flatMap(({ people }) => people)
    const own = all.filter((_, index) => index % options.writers === number)
    const means: Means = {
      sql,
      database,
      random,
      client: () => random.pick(clients),
      untilReads: (most) => untilReads(random.below(most)),
    }
    while (!isOver()) {
      await means.untilReads(2 * readsPerWrite)
      if (isOver()) break
      const begunAt = counts.reads
      try {
        await write(means, own)
        counts.writes += 1
      } catch (error) {
        // A transaction that stays open fails with its next statement.
        if (!mayFail() && faultAt < begunAt) throw error
        counts.failed += 1
        await untilSettled(sql, own, { mayFail })
      }
      // Who has written reads at once, while requests that were sent before are still being answered.
      const read = pickRead(random, random.pick(own))
      const index = random.below(places.length)
      await Promise.all([readOnce(read, index, false), readOnce(read, index, true)])
    }
  }

  try {
    const numbers = (length: number) => Array.from({ length }, (_, index) => index)
    const running = [...numbers(options.readers).map(startReader), ...numbers(options.writers).map(startWriter)]
    await Promise.all(running)
  } finally {
    await Promise.all(clients.map((client) => client.close()))
  }
  return { ...counts, problems }
}
