import { LRUCache } from 'lru-cache'
import { maxKeys, type PointCounter } from './point-counter.ts'

/** How long points are kept before the shared counter is told. */
const reportMilliseconds = 10

/** The share of a key's points that a process may take without asking first: a hundred processes cannot take the last tenth together. */
const bufferedShare = 1 / 1_000

/** From this share on, the shared counter is asked for each operation. */
const exactShare = 9 / 10

/** What a process knows about the window of a key. */
interface Window {
  /** The points that all processes have spent, when the shared counter replied last. */
  spent: number
  endsAt: number
  /** Points that this process has taken since: not reported yet, and reported without a reply. */
  unreported: number
  underWay: number
}

/**
 * Creates a counter that takes points at once while a key is far from its limit, and tells a shared counter a moment later. Asking for
 * each operation would cost more than a small operation itself. The limit holds all the same: near to it, each operation waits for
 * the shared counter.
 *
 * @param points the points of a window
 */
export function createBufferedCounter(
  points: number,
  shared: PointCounter,
  now: () => number = () => performance.now(),
): PointCounter {
  const windows = new LRUCache<string, Window>({ max: maxKeys })
  const changed = new Map<string, Window>()

  async function ask(keyId: string, cost: number, isDone: boolean): ReturnType<PointCounter> {
    const taken = await shared(keyId, cost, isDone)
    const known = windows.get(keyId)
    const { spent } = taken
    const endsAt = now() + taken.resetMilliseconds
    if (known) Object.assign(known, { spent, endsAt })
    else windows.set(keyId, { spent, endsAt, unreported: 0, underWay: 0 })
    return taken
  }

  async function report(keyId: string, window: Window): Promise<void> {
    changed.delete(keyId)
    const { unreported } = window
    window.unreported = 0
    window.underWay += unreported
    await ask(keyId, unreported, true)
    window.underWay -= unreported
  }

  function reportAll(): void {
    for (const [keyId, window] of changed) report(keyId, window)
  }

  return (keyId, cost, isDone = false) => {
    const window = windows.get(keyId)
    if (!window || now() >= window.endsAt) return ask(keyId, cost, isDone)
    const buffered = window.unreported + window.underWay + cost
    const spent = window.spent + buffered
    if (buffered + 1 > points * bufferedShare || spent > points * exactShare) {
      // The shared counter receives both in this order.
      if (window.unreported > 0) report(keyId, window)
      return ask(keyId, cost, isDone)
    }
    window.unreported += cost
    if (changed.size === 0) setTimeout(reportAll, reportMilliseconds).unref()
    changed.set(keyId, window)
    return Promise.resolve({ isTaken: true, spent, resetMilliseconds: window.endsAt - now() })
  }
}
