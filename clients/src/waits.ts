/** `offline`: there is no response. `unavailable`: 502 to 504. `limited`: 429. */
export type WaitReason = 'offline' | 'unavailable' | 'limited'

const maxBackoffSeconds = 30

/** The waiting requests of a client. */
export type Waits = ReturnType<typeof createWaits>

/**
 * Creates the waits of a client. Clients that wait for the same gateway come back at different times.
 *
 * @param closed ends with the client
 */
export function createWaits(
  onWait: ((until: Date | undefined, reason: WaitReason) => void) | undefined,
  closed: AbortSignal,
) {
  const waiting = new Set<() => void>()
  let count = 0

  /** Says that the gateway answers. */
  function wake(): void {
    for (const end of waiting) end()
  }
  // Servers have no events.
  globalThis.addEventListener?.('online', wake, { signal: closed })

  /**
   * Waits before another attempt.
   *
   * @param seconds what the gateway asked for: nothing but the signal ends this earlier. Undefined: grows with the
   *   attempts, and ends when the gateway is back
   * @throws the reason of the signal
   */
  async function wait(
    attempt: number,
    reason: WaitReason,
    seconds: number | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const milliseconds =
      seconds === undefined
        ? Math.min(maxBackoffSeconds, 2 ** (attempt - 1)) * (500 + Math.random() * 500)
        : seconds * (1_000 + Math.random() * 250)
    signal.throwIfAborted()
    count += 1
    onWait?.(new Date(Date.now() + milliseconds), reason)
    await new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', end)
        waiting.delete(end)
        resolve()
      }
      const timer = setTimeout(end, milliseconds)
      signal.addEventListener('abort', end)
      if (seconds === undefined) waiting.add(end)
    })
    count -= 1
    if (count === 0) onWait?.(undefined, reason)
    signal.throwIfAborted()
  }
  return { wait, wake }
}

/** `Retry-After`, in seconds. Undefined without it. */
export function retryAfterOf(headers: Headers): number | undefined {
  const seconds = Number.parseFloat(headers.get('retry-after') ?? '')
  return Number.isNaN(seconds) ? undefined : seconds
}
