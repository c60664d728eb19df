import type { Viewer } from '@fusion-gateway/auth'
import { createAlarm } from '@fusion-gateway/base'
import type { Model } from '@fusion-gateway/prisma-trees'
import type { ChangeLog, LiveChanges } from '../change-log.ts'
import { type Admissions, pointsOfLength } from '../operation/admit.ts'
import type { OperationRequest } from '../operation/execute.ts'
import { type createResponseMemory, keyOf, originOf } from '../operation/response-memory.ts'
import type { SentResult } from '../operation/send-each.ts'
import type { TenantMemory } from '../operation/tenant-memory.ts'
import { Interruption, type SubscriptionValues } from '../subscription-values.ts'
import type { Live } from './directive.ts'
import { type Evaluation, type LiveFollower, LiveQuery, maxWait, type Version, waitOf } from './live-query.ts'

// Live queries (docs/live.md). A query is read again when the log of its tenant, or an announcement, has a change of
// what it depends on. The log is read after each notice that something was written, from the position of the last time,
// so no change is missed, whichever program wrote it.

export interface LiveQueriesOptions {
  readonly memory: ReturnType<typeof createResponseMemory>
  readonly changeLog: ChangeLog
  readonly admissions: Pick<Admissions, 'spend'>
  /** Reads the result of a query as its client would, at its cost. */
  readonly evaluate: (request: OperationRequest) => Promise<Evaluation>
}

/** What a client that follows a query gets. */
export interface LiveRequest {
  readonly request: OperationRequest
  readonly live: Live
  /** Whether it accepts patches. */
  readonly acceptsPatches: boolean
  /** Called when it has ended. */
  readonly onEnd: () => void
}

export type LiveQueries = ReturnType<typeof createLiveQueries>

type Query = LiveQuery<Follower>

/** A query that somebody follows, and the memory of its tenant, which has the position in the log. */
interface Followed {
  readonly query: Query
  /** Resolves when what is announced is heard. */
  readonly listening: Promise<unknown> | undefined
  readonly tenant: TenantMemory
}

/** Creates the live queries of a process. */
export function createLiveQueries({ memory, changeLog, admissions, evaluate }: LiveQueriesOptions) {
  const { live } = changeLog
  const queries = new Map<string, Followed>()
  const watching = createWatching(memory, changeLog)

  function start(key: string, { request, live: { throttle } }: LiveRequest): Followed {
    const { tenantAppId } = request.context.viewer
    const dependencies = request.operation.dependenciesOn(live)
    const origin = originOf(request, dependencies, changeLog.models)
    const log = memory.follow(tenantAppId, { ...origin, outdate: () => query.outdate() })
    const listening = watching.listen(request.context.viewer, dependencies.models, {
      onChange: () => query.outdate(),
      onFailure: (error) => query.fail(error),
    })
    const query: Query = new LiveQuery(
      throttle,
      (follower) => evaluate(follower.request),
      () => {
        if (queries.get(key)?.query === query) queries.delete(key)
        log.end()
        listening.end()
      },
    )
    const followed = { query, listening: listening.begun, tenant: log.memory }
    queries.set(key, followed)
    return followed
  }

  return {
    /**
     * Follows a query.
     *
     * @returns its results, when the first one is known. They throw an `Interruption` if they break off
     * @throws GatewayError if the query cannot be executed now
     */
    async follow(client: LiveRequest): Promise<Follower> {
      const { request, live } = client
      const stopWatching = await watching.start()
      const onEnd = () => {
        stopWatching()
        client.onEnd()
      }
      const key = `${request.context.viewer.tenantAppId} ${live.throttle} ${keyOf(request)}`
      const { query, listening, tenant } = queries.get(key) ?? start(key, client)
      const follower = new Follower(query, { ...client, onEnd }, admissions)
      try {
        const ofBody = pointsOfLength(request.bodyLength)
        if (ofBody > 0) await admissions.spend(request, ofBody)
        await listening
        // Then everything that was written before is known.
        await memory.check(request, tenant).catch(() => query.outdate())
        await follower.begin()
        return follower
      } catch (error) {
        await follower.return()
        throw error
      }
    },
    /** Breaks off all of them, because the gateway stops. */
    async close(): Promise<void> {
      await watching.close()
      for (const { query } of queries.values()) query.fail(stopping())
    },
  }
}

const stopping = () => new Interruption('The gateway is stopping.')

interface Listener {
  onChange(): void
  onFailure(error: unknown): void
}

/** Follows the log for all live queries of a process, while there are any. */
function createWatching(memory: LiveQueriesOptions['memory'], { live }: ChangeLog) {
  let followers = 0
  let isClosed = false
  let watched: Promise<() => void> | undefined
  let listening: Promise<() => void> | undefined
  let checking: Promise<void> | undefined
  let isWrittenAgain = false
  /** Those who are told of announcements, by tenant. */
  const listeners = new Map<string, Set<(model?: string) => void>>()

  function onWritten(): void {
    isWrittenAgain = true
    checking ??= (async () => {
      while (isWrittenAgain && !isClosed) {
        isWrittenAgain = false
        // What is not found now is found after the next notice, from the same position.
        await checkWritten(memory, live).catch(() => undefined)
      }
      checking = undefined
    })()
  }

  function announce(tenantAppId?: string, model?: string): void {
    const told = tenantAppId === undefined ? [...listeners.values()] : [listeners.get(tenantAppId) ?? new Set()]
    for (const set of told) for (const tell of set) tell(model)
  }

  async function stopIfUnused(): Promise<void> {
    if (followers > 0) return
    const stops = [watched, listening]
    watched = undefined
    listening = undefined
    // One that fails has nothing to stop.
    for (const stop of await Promise.allSettled(stops)) if (stop.status === 'fulfilled') stop.value?.()
  }

  return {
    /** Begins to follow the log, for one follower more. Returns what ends that. */
    async start(): Promise<() => void> {
      if (isClosed) throw stopping()
      followers += 1
      let isOver = false
      const stop = () => {
        if (isOver) return
        isOver = true
        followers -= 1
        void stopIfUnused()
      }
      try {
        watched ??= live.watch(onWritten)
        await watched
        return stop
      } catch (error) {
        // The next follower tries again.
        watched = undefined
        stop()
        throw error
      }
    },

    /**
     * Tells a query of changes that are announced, and not, or not only, in the log; and of what prevents that, after it
     * has begun.
     */
    listen(viewer: Viewer, models: ReadonlySet<Model>, { onChange, onFailure }: Listener) {
      const { tenantAppId } = viewer
      const begun: Promise<unknown>[] = []
      const ends: (() => void)[] = []
      if ([...models].some((model) => live.announced.has(model))) {
        const tell = (model?: string) => {
          if (model === undefined || models.has(model as Model)) onChange()
        }
        const told = listeners.get(tenantAppId) ?? new Set()
        listeners.set(tenantAppId, told.add(tell))
        listening ??= live.listen(announce)
        const own = listening
        own.catch(() => {
          // The next query tries again.
          if (listening === own) listening = undefined
        })
        begun.push(own)
        ends.push(() => {
          told.delete(tell)
          if (told.size === 0) listeners.delete(tenantAppId)
        })
      }
      if (models.has(live.ofEvents)) {
        const following = live.followEvents(viewer, onChange, onFailure)
        begun.push(following)
        ends.push(() => void following.then((stop) => stop()).catch(() => undefined))
      }
      const allBegun = begun.length > 0 ? Promise.all(begun) : undefined
      // Nobody may wait for it: the client can be refused before.
      allBegun?.catch(() => undefined)
      return {
        /** Resolves when it listens. Undefined if nothing is announced. */
        begun: allBegun,
        end() {
          for (const end of ends) end()
        },
      }
    },

    async close(): Promise<void> {
      isClosed = true
      await checking
    },
  }
}

/** Reads the logs of the tenants in which something may have been written. */
async function checkWritten(memory: LiveQueriesOptions['memory'], live: LiveChanges): Promise<void> {
  const followed = new Map(memory.followed().map((one) => [one.tenantAppId, one]))
  const written = await live.findWritten([...followed.values()])
  await Promise.allSettled(
    written.map(async (tenantAppId) => {
      const tenant = followed.get(tenantAppId)
      if (tenant) await memory.check(forTenant(tenantAppId), tenant)
    }),
  )
}

/** Who asks the log for all followers of a tenant. */
function forTenant(tenantAppId: string) {
  return { statements: { statements: 0, tenantAppId }, context: { viewer: { tenantAppId, keyId: '' } } }
}

/** A client that follows a live query, and gets its results one after the other: the last one, if it is slow. */
export class Follower implements LiveFollower, SubscriptionValues<SentResult> {
  readonly request: OperationRequest
  readonly payerId: string
  readonly #query: Query
  readonly #acceptsPatches: boolean
  readonly #isSubscription: boolean
  readonly #admissions: LiveQueriesOptions['admissions']
  readonly #onEnd: () => void
  readonly #alarm = createAlarm()
  #hasEnded = false
  /** The read from which on results are right for it. */
  #firstRead = Number.POSITIVE_INFINITY
  /** The hash of the last version that it got. */
  #sent: string | undefined
  /** Until when it gets no other one, as a time of `performance.now()`. */
  #until = 0
  #revision = 0
  #hasLast = false

  constructor(
    query: Query,
    { request, live, acceptsPatches, onEnd }: LiveRequest,
    admissions: LiveQueriesOptions['admissions'],
  ) {
    const { keyId, userId } = request.context.viewer
    this.request = request
    this.payerId = JSON.stringify([keyId, userId])
    this.#query = query
    this.#acceptsPatches = acceptsPatches
    this.#isSubscription = live.isSubscription === true
    this.#admissions = admissions
    this.#onEnd = onEnd
    query.followers.add(this)
  }

  wake(): void {
    this.#alarm.ring()
  }

  /** Waits for the first result that shows what was written before. @throws why there is none */
  async begin(): Promise<void> {
    this.#firstRead = this.#query.nextRead
    this.#query.start(this)
    await this.#version()
  }

  /** Waits for a version that it does not have. Undefined if it has ended. @throws why there is none */
  async #version(): Promise<Version | undefined> {
    while (!this.#hasEnded && !this.#hasLast) {
      const { version, ended, failure } = this.#query
      const isNew = version?.hash !== this.#sent || version?.isLast
      const isFound = version && isNew && ended >= this.#firstRead
      const wait = this.#until - performance.now()
      if (isFound && wait <= 0) return version
      if (failure) throw failure.error
      await this.#alarm.wait(isFound ? wait : maxWait)
    }
    return undefined
  }

  /** The next message; undefined if it has ended. */
  async next(): Promise<IteratorResult<SentResult, undefined>> {
    for (;;) {
      const version = await this.#version()
      if (!version) return { done: true, value: undefined }
      try {
        // Who has paid for the read has paid for the result.
        if (version.payer !== this)
          await this.#admissions.spend(this.request, Math.max(1, pointsOfLength(version.length)))
        return { done: false, value: this.#messageOf(version) }
      } catch (error) {
        const wait = waitOf(error)
        if (wait === undefined) throw error
        // Then it gets the version of then.
        await this.#pause(wait)
      }
    }
  }

  #messageOf(version: Version): SentResult {
    const { result, isLast, length, hash, until } = version
    const patch = this.#acceptsPatches ? version.patch(this.#sent) : undefined
    this.#sent = hash
    this.#until = until
    this.#hasLast = isLast
    if (this.#isSubscription) return { result, length }
    this.#revision += 1
    const revision = this.#revision
    if (patch) return { result: { extensions: { live: { revision, patch } } }, length }
    return { result: { ...result, extensions: { live: { revision } } }, length }
  }

  async #pause(milliseconds: number): Promise<void> {
    const until = performance.now() + milliseconds
    while (!this.#hasEnded && performance.now() < until) await this.#alarm.wait(until - performance.now())
  }

  continuation = () => 'Send the query again.'

  /** Ends it at once, also while the next result is awaited. */
  async return(): Promise<IteratorResult<SentResult, undefined>> {
    if (!this.#hasEnded) {
      this.#hasEnded = true
      this.#query.remove(this)
      this.#onEnd()
      this.#alarm.ring()
    }
    return { done: true, value: undefined }
  }
}
