interface RepeatOptions {
  /** Ends the repetition, also while it waits. */
  readonly signal: AbortSignal
  /** Gets the error of work that has failed. Returns how long to wait, in milliseconds. */
  onError(error: unknown): number
  /** Ends a wait early. */
  readonly alarm?: ReturnType<typeof createAlarm>
}

/** Repeats work until the signal is aborted, also after failures. It returns the pause, in milliseconds; 0 is none. */
export async function repeat(
  work: () => Promise<number>,
  { signal, onError, alarm = createAlarm() }: RepeatOptions,
): Promise<void> {
  signal.addEventListener('abort', alarm.ring)
  while (!signal.aborted) {
    const milliseconds = await work().catch(onError)
    if (milliseconds > 0 && !signal.aborted) await alarm.wait(milliseconds)
  }
}

/** Wakes a waiting loop. If nothing waits, the next wait ends at once. */
export function createAlarm() {
  let hasRung = false
  let wake: (() => void) | undefined
  return {
    ring() {
      hasRung = true
      wake?.()
    },
    async wait(timeoutMilliseconds: number): Promise<void> {
      if (!hasRung) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, timeoutMilliseconds)
          wake = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      }
      hasRung = false
      wake = undefined
    },
  }
}
