/** `offline`: there is no response. `unavailable`: 502 to 504. `limited`: 429. */
export type WaitReason = 'offline' | 'unavailable' | 'limited'

/** The waiting requests of a client. */
export interface Waits {
  /**
   * Waits before another attempt.
   *
   * @param seconds what the gateway asked for: nothing but the signal ends this earlier. Undefined: grows with the
   *   attempts, and ends when the gateway is back
   * @throws the reason of the signal
   */
  wait(attempt: number, reason: WaitReason, seconds: number | undefined, signal: AbortSignal): Promise<void>
  /** Says that the gateway answers. */
  wake(): void
}

const maxBackoffSeconds = 30

type OnWait = (until: Date | undefined, reason: WaitReason) => void

/**
 * Creates the waits of a client. Clients that wait for the same gateway come back at different times.
 *
 * @param closed ends with the client
 */
export function createWaits(onWait: OnWait | undefined, closed: AbortSignal): Waits {
  const waiting = new Set<(value?: unknown) => void>()
  let count = 0

  const wake = () => {
    for (const end of waiting) end()
  }
  // Servers have no events.
  globalThis.addEventListener?.('online', wake, { signal: closed })

  return {
    async wait(attempt, reason, seconds, signal) {
      const milliseconds =
        seconds === undefined
          ? Math.min(maxBackoffSeconds, 2 ** (attempt - 1)) * (500 + Math.random() * 500)
          : seconds * (1_000 + Math.random() * 250)
      signal.throwIfAborted()
      count += 1
      onWait?.(new Date(Date.now() + milliseconds), reason)
      const { promise, resolve } = Promise.withResolvers<unknown>()
      const timer = setTimeout(resolve, milliseconds)
      signal.addEventListener('abort', resolve)
      if (seconds === undefined) waiting.add(resolve as () => void)
      await promise
      clearTimeout(timer)
      signal.removeEventListener('abort', resolve)
      waiting.delete(resolve as () => void)
      count -= 1
      if (count === 0) onWait?.(undefined, reason)
      signal.throwIfAborted()
    },
    wake,
  }
}
