/** `offline`: there is no response. `unavailable`: 502 to 504. `limited`: 429. */
export type WaitReason = 'offline' | 'unavailable' | 'limited'

/** The waiting requests of a client. */
export interface Waits {
  /**
   * Waits before another attempt.
   *
   * @param retryAfterSeconds what the gateway asked for: nothing ends this earlier but the signal. Undefined: grows with the attempts, and
   *   ends when the gateway is back
   * @throws the reason of the signal
   */
  wait(attempt: number, reason: WaitReason, retryAfterSeconds: number | undefined, signal: AbortSignal): Promise<void>
  /** Says that the gateway answers. Ends the waiting for it. */
  wake(): void
}

const maxBackoffSeconds = 30

/**
 * Creates the waits of a client: clients that wait for the same gateway come back at different times.
 *
 * @param signal ends with the client
 */
export function createWaits(
  onWait: ((until: Date | undefined, reason: WaitReason) => void) | undefined,
  signal: AbortSignal,
): Waits {
  const waiting = new Set<() => void>()
  let count = 0

  const wake = () => {
    for (const end of waiting) end()
  }
  // Servers have neither.
  globalThis.addEventListener?.('online', wake, { signal })

  return {
    async wait(attempt, reason, retryAfterSeconds, aborted) {
      const seconds = retryAfterSeconds ?? Math.min(maxBackoffSeconds, 2 ** (attempt - 1)) / 2
      const milliseconds = seconds * (1_000 + Math.random() * (retryAfterSeconds === undefined ? 1_000 : 250))
      aborted.throwIfAborted()
      count += 1
      onWait?.(new Date(Date.now() + milliseconds), reason)
      try {
        await new Promise<void>((resolve, reject) => {
          const end = () => {
            clearTimeout(timer)
            waiting.delete(end)
            aborted.removeEventListener('abort', abort)
            resolve()
          }
          const abort = () => {
            end()
            reject(aborted.reason)
          }
          const timer = setTimeout(end, milliseconds)
          aborted.addEventListener('abort', abort)
          if (retryAfterSeconds === undefined) waiting.add(end)
        })
        aborted.throwIfAborted()
      } finally {
        count -= 1
        if (count === 0) onWait?.(undefined, reason)
      }
    },
    wake,
  }
}
