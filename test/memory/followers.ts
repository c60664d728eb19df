import { createRandom } from '../../src/domain/seed/seed.ts'
import type { Place } from './client.ts'
import { type LiveMessage, liveTransports } from './live-stream.ts'
import type { Numbers } from './numbers.ts'
import { type Json, Observation } from './observation.ts'
import type { Tenant } from './people.ts'
import { checkResponse, type Read, shapes } from './shapes.ts'

export interface FollowersOptions {
  readonly places: readonly Place[]
  readonly tenants: readonly Tenant[]
  /** How many there are. */
  readonly count: number
  readonly seed: number
  /** Whether connections may break now, because the server is restarted. */
  mayFail?(): boolean
}

export interface FollowerCounts {
  /** Results of live queries. */
  results: number
  /** Results that were never true, that are older than an earlier one, or that were missed at the end. */
  badResults: number
  /** Connections that broke, after which the query was sent again. */
  broken: number
  /** Results that arrived later after a write was acknowledged than is promised. */
  late: number
}

export interface FollowerResult extends FollowerCounts {
  /** From the acknowledgement of a write to the arrival of a result that shows it, in milliseconds. */
  readonly lateness: { readonly p50: number; readonly p99: number; readonly max: number }
  /** Descriptions of the first problems. */
  readonly problems: readonly string[]
}

/** What is promised after the throttle, and what a busy machine may take, in milliseconds. */
const promised = 300
const maxLateness = 5_000

/** How long after a fault its effects may still break connections, in milliseconds. */
const aftermath = 5_000

const throttles = [100, 200, 1_000] as const
const openers = Object.values(liveTransports)
const maxProblems = 10

const wait = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

/**
 * Follows live queries over all transports, with different rights, at all gateways. Checks each of their results: it
 * shows nothing that was never true, nothing older than what the same follower was shown or, at the beginning of a
 * connection, than what was acknowledged, and each write in time.
 */
export function startFollowers({ places, tenants, count, seed, mayFail = () => false }: FollowersOptions) {
  const counts: FollowerCounts = { results: 0, badResults: 0, broken: 0, late: 0 }
  const problems: string[] = []
  const times: number[] = []
  let hasEnded = false
  let isPaused = false
  /** When a fault was last seen. */
  let faultAt = Number.NEGATIVE_INFINITY
  const noteFault = () => {
    if (mayFail() || isPaused) faultAt = performance.now()
  }
  const clock = setInterval(noteFault, 50)

  function note({ name }: Follower, text: string): void {
    counts.badResults += 1
    if (problems.length < maxProblems) problems.push(`${name}\n  ${text}`)
  }

  const followers = readsOf(tenants, count, seed).map((read, index) => createFollower(read, index))
  type Follower = ReturnType<typeof createFollower>

  function createFollower(read: Read, index: number) {
    const { address } = places[index % places.length] as Place
    const throttle = throttles[Math.floor(index / 2) % throttles.length] as number
    const open = openers[index % openers.length] ?? liveTransports.WebSocket
    const { query, variables } = read.body as { readonly query: string; readonly variables: object }
    const live = query.replace(' {', ` @live(throttle: ${throttle}) {`)
    const extensions = index % 4 === 0 ? { live: { patch: true } } : {}
    const follower = {
      name: `live: ${address} ${Object.keys(liveTransports)[index % openers.length]} ${throttle} ms ${read.key}`,
      running: undefined as Promise<void> | undefined,
      close: () => {},
      /** What it was shown. Later results must not show less. */
      floors: new Map<Numbers, number>(),
      /** What the last result shows: a row that was not in it can have been written long before it came. */
      shown: new Set<Numbers>(),
      last: undefined as Json,
      /** What a query without `@live` returns. */
      async query(): Promise<Json> {
        const response = await fetch(`${address}/graphql`, {
          method: 'POST',
          headers: { ...read.viewer.headers, 'content-type': 'application/json' },
          body: JSON.stringify({ query, variables }),
        })
        return response.json()
      },
    }

    /** Checks a result. The first one of a connection must show what was acknowledged before. */
    function check(message: LiveMessage, first: Observation | undefined): void {
      const { floors } = follower
      const observation = first ?? new Observation(read.viewer, undefined, (numbers) => floors.get(numbers) ?? 0)
      const { data, errors } = message
      checkResponse(read, observation, { status: 200, text: JSON.stringify({ data, errors }) })
      const now = performance.now()
      let late = 0
      for (const [numbers, shown] of observation.shown) {
        const before = floors.get(numbers)
        if (before === undefined || shown > before) floors.set(numbers, shown)
        if (first || before === undefined || shown <= before || !follower.shown.has(numbers)) continue
        const written = numbers.acknowledgedAfter(before, shown)
        if (written === undefined) continue
        late = Math.max(late, now - Math.max(written, faultAt))
        if (!(written < faultAt)) times.push(Math.max(0, now - written))
      }
      follower.shown = new Set(observation.shown.keys())
      if (late > throttle + promised) counts.late += 1
      if (late > throttle + maxLateness) observation.wrong(`it is ${Math.round(late)} ms late`)
      const found = observation.problems.slice(0, 3).map(({ kind, text }) => `${kind}: ${text}`)
      if (found.length > 0) note(follower, found.join('\n  '))
    }

    /** Follows the query over one connection. Returns why it ended. */
    async function followOnce(): Promise<string> {
      let first: Observation | undefined
      let revision = 0
      const begin = () => {
        const { floors } = follower
        return new Observation(read.viewer, undefined, (numbers) =>
          Math.max(numbers.floor(undefined), floors.get(numbers) ?? 0),
        )
      }
      first = isPaused ? undefined : begin()
      const opened = open(address, read.viewer.headers, { query: live, variables, extensions })
      follower.close = opened.close
      try {
        for await (const message of opened.messages) {
          if (message.revision === undefined) return JSON.stringify(message)
          counts.results += 1
          if (message.revision <= revision) note(follower, `the revision ${message.revision} after ${revision}`)
          revision = message.revision
          follower.last = message
          if (!isPaused) check(message, first)
          first = undefined
        }
        return 'the gateway ended it'
      } catch (error) {
        if (error instanceof TypeError && error.message.startsWith('A patch')) note(follower, error.message)
        return String(error)
      } finally {
        opened.close()
      }
    }

    async function run(): Promise<void> {
      while (!hasEnded) {
        const reason = await followOnce()
        follower.last = undefined
        if (hasEnded) return
        counts.broken += 1
        noteFault()
        const isExpected = performance.now() - faultAt < aftermath
        if (!isExpected) note(follower, `it broke off: ${reason.slice(0, 500)}`)
        await wait(200)
      }
    }

    follower.running = run()
    return follower
  }

  /** Waits until the last result is what a query returns now. */
  async function settleOne(follower: Follower): Promise<void> {
    const until = performance.now() + maxLateness
    let last = ''
    let current = ''
    do {
      current = textOf(await follower.query())
      last = textOf(follower.last)
      if (current === last) return
      await wait(20)
    } while (performance.now() < until && !hasEnded)
    if (!hasEnded) note(follower, `its last result is ${last}\n  and not ${current}`)
  }

  return {
    counts,
    problems,
    /** Checks, when nobody writes any more, that the last result of each is what a query returns. */
    async settle(): Promise<void> {
      for (let from = 0; from < followers.length; from += 16)
        await Promise.all(followers.slice(from, from + 16).map(settleOne))
    },
    /** Checks no results until it is resumed, because rows get earlier numbers again: a backup is restored. */
    pause(): void {
      isPaused = true
    },
    resume(): void {
      for (const { floors } of followers) floors.clear()
      noteFault()
      isPaused = false
    },
    /** Ends all of them. */
    async end(): Promise<FollowerResult> {
      hasEnded = true
      clearInterval(clock)
      for (const { close } of followers) close()
      await Promise.all(followers.map(({ running }) => running))
      times.sort((one, other) => one - other)
      const share = (part: number) => Math.round(times[Math.floor((times.length - 1) * part)] ?? 0)
      return { ...counts, lateness: { p50: share(0.5), p99: share(0.99), max: share(1) }, problems }
    },
  }
}

/** What a result shows. The places of errors in the document are not the same with a directive. */
function textOf(result: Json): string {
  const errors = (result?.errors ?? []).map(({ path, extensions }: Json) => [path, extensions?.code])
  return JSON.stringify([result?.data, errors])
}

/** Queries of all shapes, of all viewers in turn. */
function readsOf(tenants: readonly Tenant[], count: number, seed: number): Read[] {
  const random = createRandom(seed)
  const reads: Read[] = []
  for (let number = 0; reads.length < count; number += 1) {
    const { viewers, people } = random.pick(tenants)
    const shape = shapes[number % shapes.length]
    const read = shape?.(random.pick(viewers), random.pick(people), random)
    // A route is no query, nor is a live query sent by GET.
    if (read?.body) reads.push(read)
  }
  return reads
}
