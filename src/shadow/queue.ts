/** Work that waits for the requests before it, and for room. */
export interface QueuedWork {
  /** Whether nothing else may run at the same time, so that writes keep their order among reads. */
  readonly isExclusive: boolean
  /** The bytes that it keeps until it has ended. */
  readonly bytes: number
  run(): Promise<void>
}

export interface QueueLimits {
  readonly concurrency: number
  readonly maxWaiting: number
  readonly maxBytes: number
}

/** Creates a queue that runs work in its order, several at a time, and refuses what it has no room for. */
export function createQueue({ concurrency, maxWaiting, maxBytes }: QueueLimits) {
  const waiting: QueuedWork[] = []
  const listeners: (() => void)[] = []
  let running = 0
  let isExclusive = false
  let bytes = 0

  function start(): void {
    for (let next = waiting[0]; next; next = waiting[0]) {
      if (isExclusive || running >= (next.isExclusive ? 1 : concurrency)) return
      waiting.shift()
      running += 1
      isExclusive = next.isExclusive
      const { bytes: kept } = next
      next.run().finally(() => {
        running -= 1
        isExclusive = false
        bytes -= kept
        start()
        for (const listener of listeners.splice(0)) listener()
      })
    }
  }

  return {
    /** Returns false if there is no room. */
    add(work: QueuedWork): boolean {
      if (waiting.length >= maxWaiting || bytes + work.bytes > maxBytes) return false
      bytes += work.bytes
      waiting.push(work)
      start()
      return true
    },
    /** Waits until there is room for more. */
    async untilRoom(): Promise<void> {
      while (waiting.length >= maxWaiting) await new Promise<void>((resolve) => listeners.push(resolve))
    },
    /** Waits until everything has ended. */
    async untilEmpty(): Promise<void> {
      while (waiting.length + running > 0) await new Promise<void>((resolve) => listeners.push(resolve))
    },
    /** Drops what waits. */
    clear(): number {
      return waiting.splice(0).length
    },
  }
}
