import { once } from 'node:events'
import { repeat } from '../../engine/repeat.ts'
import type { Logger } from '../../engine/telemetry/logger.ts'
import type { EventFeed } from './event-feed.ts'

const listenAgainMilliseconds = 5_000

interface WatchOptions {
  readonly events: Pick<EventFeed, 'watch'>
  readonly log: Logger
  readonly signal: AbortSignal
  readonly onEvents: () => void
}

/**
 * Watches the event log until a worker stops. It only makes the worker faster: polling finds work that was not
 * announced.
 */
export async function keepWatching({ events, log, signal, onEvents }: WatchOptions): Promise<void> {
  const watch = async () => {
    const stopWatching = await events.watch(onEvents)
    if (!signal.aborted) await once(signal, 'abort')
    stopWatching()
    return 0
  }
  await repeat(watch, {
    signal,
    onError(error) {
      log.warn({ err: error }, 'changes are not announced to this worker; it polls for them')
      return listenAgainMilliseconds
    },
  })
}
