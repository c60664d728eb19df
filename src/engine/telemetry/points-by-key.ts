import { Counter, type Registry } from '@prometheus-io/client'
import { LRUCache } from 'lru-cache'

/** How many keys have a series of their own, and of how many the points are counted. */
const maxShown = 20
const maxCounted = 10_000

/** How often the keys that have a series are chosen again, once there are more of them. */
const choiceMilliseconds = 60_000

/**
 * Counts the points that keys spend. The keys that have spent most lately have a series, and the total has all: tenants
 * create keys as they like, and Prometheus keeps each series for weeks.
 */
export function countPointsByKey(
  registry: Registry,
  {
    showsKeys = true,
    now = () => performance.now(),
  }: { readonly showsKeys?: boolean; readonly now?: () => number } = {},
) {
  const registers = [registry]
  const total = new Counter({ name: 'fusion_points_spent_total', help: 'Points that all keys have spent', registers })
  if (!showsKeys) return (_key: string, points: number): void => total.inc(points)
  const keys = new LRUCache<string, { total: number; lately: number }>({ max: maxCounted })
  let shown: string[] = []
  let chosenAt = Number.NEGATIVE_INFINITY

  function choose(): void {
    chosenAt = now()
    const spenders = [...keys.entries()].toSorted(([, one], [, other]) => other.lately - one.lately)
    shown = spenders.slice(0, maxShown).map(([key]) => key)
    for (const [, points] of spenders) points.lately /= 2
  }

  new Counter({
    name: 'fusion_points_spent_by_key_total',
    help: `Points by the id of the key, of the ${maxShown} keys that have spent most lately`,
    labelNames: ['key'] as const,
    registers,
    collect() {
      if (shown.length < maxShown || now() - chosenAt >= choiceMilliseconds) choose()
      this.reset()
      for (const key of shown) this.inc({ key }, keys.get(key)?.total ?? 0)
    },
  })

  /** Counts points of the key with this id. */
  return (key: string, points: number): void => {
    total.inc(points)
    const spent = keys.get(key) ?? { total: 0, lately: 0 }
    spent.total += points
    spent.lately += points
    keys.set(key, spent)
  }
}
