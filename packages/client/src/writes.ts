/** A result that shows a write arrives within this time after it, if the query has no longer `throttle`. */
const settledMilliseconds = 500

/** A page that writes all the time still follows what others write. */
const maxHeldMilliseconds = 5_000

export type Writes = ReturnType<typeof createWrites>

/** Creates the memory of the mutations that a client sends: a live query's result that was read before one may not replace what it wrote. */
export function createWrites() {
  let running = 0
  let endedAt = Number.NEGATIVE_INFINITY

  const isUnsettled = (subscribedAt: number) =>
    running > 0 || (endedAt > subscribedAt && performance.now() - endedAt < settledMilliseconds)

  async function settle(subscribedAt: number): Promise<void> {
    const until = performance.now() + maxHeldMilliseconds
    while (isUnsettled(subscribedAt) && performance.now() < until) await new Promise((wake) => setTimeout(wake, 20))
  }

  return {
    /** A mutation is sent. Returns what to call when it has ended. */
    begin(): () => void {
      running += 1
      return () => {
        running -= 1
        endedAt = performance.now()
      }
    },
    /** Passes on the results of a live query: of those that may have been read before a mutation ended, the last one. */
    hold<Result>(subscribedAt: number, show: (result: Result) => void) {
      let held: { readonly result: Result } | undefined
      function flush(): void {
        const last = held
        held = undefined
        if (last) show(last.result)
      }
      return {
        next(result: Result): void {
          const isHeld = held !== undefined
          held = { result }
          if (!isUnsettled(subscribedAt)) flush()
          else if (!isHeld) void settle(subscribedAt).then(flush)
        },
        flush,
      }
    },
  }
}
