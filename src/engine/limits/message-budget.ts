import { setTimeout } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { shares } from './concurrency-limit.ts'
import { type Payer, subjectsOf } from './payer.ts'

/** How many messages a key may send per second, and at once. Tenants and users have multiples of it, as of permits. */
const messagesPerSecond = 1_000

/** The shortest wait. Hundreds of sockets that wait must not keep the event loop busy with asking. */
const minWaitMilliseconds = 50

/** How many subjects are counted. One that is forgotten begins anew. */
const maxSubjects = 10_000

export type MessageBudget = ReturnType<typeof createMessageBudget>

/**
 * Bounds the messages that all WebSockets of a key, a tenant and its users send. They cost no points if they start no
 * operation.
 */
export function createMessageBudget() {
  const levels = new LRUCache<string, { readonly level: number; readonly at: number }>({ max: maxSubjects })

  /** Takes messages. Returns 0, or after how many milliseconds to try again. */
  function take(payer: Payer, count = 1): number {
    const now = performance.now()
    const subjects = subjectsOf(payer).map(({ kind, name }) => {
      const max = messagesPerSecond * shares[kind].factor
      const { level, at } = levels.get(name) ?? { level: 0, at: now }
      return { name, max, level: Math.max(0, level - ((now - at) / 1_000) * max) }
    })
    const wait = Math.max(...subjects.map(({ level, max }) => ((level + count - max) / max) * 1_000))
    if (wait > 0) return wait + minWaitMilliseconds * (1 + Math.random())
    for (const { name, level } of subjects) levels.set(name, { level: level + count, at: now })
    return 0
  }

  return {
    take,
    /** Takes messages as soon as there are so many, unless the client has left. */
    async wait(payer: Payer, count: number, hasLeft = () => false): Promise<void> {
      for (let wait = take(payer, count); wait > 0 && !hasLeft(); wait = take(payer, count)) {
        await setTimeout(wait, undefined, { ref: false })
      }
    },
  }
}
