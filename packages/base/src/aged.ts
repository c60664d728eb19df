import { setTimeout as sleep } from 'node:timers/promises'

interface AgedOptions<Value> {
  /** For how many milliseconds a read that has failed is not tried again. 0 by default. */
  readonly cooldown?: number
  readonly first?: Value | undefined
  readonly now?: (() => number) | undefined
}

/** A value that is read again when it is too old: one read at a time, for all who wait. Ages are in milliseconds. */
export function createAged<Value>(
  read: () => Promise<Value>,
  { cooldown = 0, first, now = () => performance.now() }: AgedOptions<Value> = {},
) {
  let value = first
  let readAt = first === undefined ? Number.NEGATIVE_INFINITY : now()
  let failure: { readonly error: unknown; readonly at: number } | undefined
  let reading: Promise<Value> | undefined

  const age = () => now() - readAt

  async function readNow(): Promise<Value> {
    try {
      value = await read()
      readAt = now()
      failure = undefined
      return value
    } catch (error) {
      failure = { error, at: now() }
      throw error
    } finally {
      reading = undefined
    }
  }

  async function refresh(): Promise<Value> {
    if (failure && now() - failure.at < cooldown) throw failure.error
    reading ??= readNow()
    return reading
  }

  return {
    age,
    last: () => value,
    refresh,
    async within(maxAge: number): Promise<Value> {
      return value === undefined || age() > maxAge ? refresh() : value
    },
    /** Returns the value of a later read, which begins when the last one is old enough. */
    async newer(minAge: number): Promise<Value> {
      const present = value
      // A timer can end a moment early.
      if (age() < minAge) await sleep(minAge - age() + 5)
      return value === undefined || value === present ? refresh() : value
    },
  }
}
