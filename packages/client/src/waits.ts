/**
 * `offline`: there is no response. `unavailable`: the gateway, or the token backend, answers 502 to 504. `limited`: it answers 429, or 409
 * while the first request with the same key runs.
 */
export type WaitReason = 'offline' | 'unavailable' | 'limited'

const maxBackoffSeconds = 30

/**
 * The gateway sends something every 12 seconds: a connection that is silent is dead, as after the sleep of a device.
 */
export const maxSilenceMilliseconds = 30_000

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
  const waiting = new Set<Waiting>()
  let count = 0

  /**
   * The gateway has answered: ends the waiting of what has waited since before that was sent. Each is woken once, because a gateway can
   * answer one request and not another: then all would be sent again with each response.
   */
  function wake(sentAt: number): void {
    for (const { since, waiter, end } of waiting) {
      if (waiter.isWoken || since > sentAt) continue
      waiter.isWoken = true
      end()
    }
  }
  function wakeAll(): void {
    for (const { end } of waiting) end()
  }
  // Servers have no events.
  globalThis.addEventListener?.('online', wakeAll, { signal: closed })

  /**
   * Waits before another attempt. The least wait grows with the attempts.
   *
   * @param seconds what the gateway asked for: nothing but the signal ends this earlier. Undefined: ends when the gateway is back
   * @throws the reason of the signal
   */
  async function wait(
    attempt: number,
    reason: WaitReason,
    seconds: number | undefined,
    signal: AbortSignal,
    waiter: Waiter,
  ): Promise<void> {
    const least = Math.min(maxBackoffSeconds, 2 ** (attempt - 1)) * (500 + Math.random() * 500)
    const milliseconds = Math.max(least, (seconds ?? 0) * (1_000 + Math.random() * 250))
    signal.throwIfAborted()
    count += 1
    onWait?.(new Date(Date.now() + milliseconds), reason)
    await new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', end)
        waiting.delete(entry)
        resolve()
      }
      const entry = { since: performance.now(), waiter, end }
      const timer = setTimeout(end, milliseconds)
      signal.addEventListener('abort', end)
      if (seconds === undefined) waiting.add(entry)
    })
    count -= 1
    if (count === 0) onWait?.(undefined, reason)
    signal.throwIfAborted()
  }
  return { wait, wake }
}

/** A query or subscription that can wait several times. */
export interface Waiter {
  isWoken: boolean
}

interface Waiting {
  readonly since: number
  readonly waiter: Waiter
  readonly end: () => void
}

/** `Retry-After`, in seconds. Undefined without it. */
export function retryAfterOf(headers: Headers): number | undefined {
  const seconds = Number.parseFloat(headers.get('retry-after') ?? '')
  return seconds >= 0 ? seconds : undefined
}
