import type { GraphQLRequest } from './request.ts'

/** Older positions are not continued: what was not followed for so long would come as a flood. */
const maxAgeMilliseconds = 300_000

/** A page is read within this time: one position is enough for its queries. */
const pageMilliseconds = 60_000

/** Subscriptions of a page. */
const maxFollowed = 200

/** A query that has asked for a position. */
interface Asked {
  readonly sentAt: number
  readonly position: Promise<string | undefined>
  isSettled: boolean
  settle(position?: string): void
}

/** A subscription that runs, or has ended. */
interface Followed {
  position?: string | undefined
  running: number
  endedAt: number
}

/**
 * Creates the positions in the log of events after which the subscriptions of a client begin. Each has its own, because another one may
 * follow other types. The first of a subscription is that of the query of the page that was sent first: what another query lacks was
 * written after it.
 */
export function createPositions() {
  /** The queries in the order in which they were sent. The first is the one from which subscriptions begin. */
  let asked: Asked[] = []
  const followed = new Map<string, Followed>()
  const isRecent = (time: number, most: number) => performance.now() - time < most

  /** The position of the first query that has one. */
  async function first(): Promise<string | undefined> {
    for (let [query] = asked; query; [query] = asked) {
      const position = await query.position
      if (position !== undefined) return isRecent(query.sentAt, maxAgeMilliseconds) ? position : undefined
    }
    return undefined
  }

  return {
    /** A query is sent. Returns undefined if it need not ask. */
    ask(): Asked | undefined {
      const [known] = asked
      if (known && !isRecent(known.sentAt, pageMilliseconds)) asked = []
      else if (known?.isSettled) return undefined
      // Node 20 has no Promise.withResolvers.
      let resolve: (position: string | undefined) => void = () => {}
      const promise = new Promise<string | undefined>((settle) => {
        resolve = settle
      })
      const query: Asked = {
        sentAt: performance.now(),
        position: promise,
        isSettled: false,
        settle(position) {
          if (query.isSettled) return
          query.isSettled = true
          // The next one is the first.
          if (position === undefined) asked = asked.filter((each) => each !== query)
          resolve(position)
        },
      }
      asked.push(query)
      return query
    },
    /** A subscription begins. */
    follow(request: GraphQLRequest) {
      const { query, documentId, variables } = request
      const key = JSON.stringify([query ?? documentId, variables])
      const known = followed.get(key)
      const entry = known && (known.running > 0 || isRecent(known.endedAt, maxAgeMilliseconds)) ? known : newFollowed()
      entry.running += 1
      // The one that began last is the last.
      followed.delete(key)
      followed.set(key, entry)
      for (const [oldest, { running }] of followed)
        if (followed.size > maxFollowed && running === 0) followed.delete(oldest)
      let isEnded = false
      return {
        start: async () => entry.position ?? (await first()),
        moveTo(position: string | undefined) {
          entry.position = position ?? entry.position
        },
        end() {
          if (isEnded) return
          isEnded = true
          entry.running -= 1
          entry.endedAt = performance.now()
        },
      }
    },
    /** Another person begins anew. */
    forget(): void {
      asked = []
      followed.clear()
    },
  }
}

const newFollowed = (): Followed => ({ running: 0, endedAt: 0 })
