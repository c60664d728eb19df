import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '../../engine/telemetry/logger.ts'
import type { EventFeed } from './event-feed.ts'

const listenAgainMilliseconds = 5_000

interface WatchOptions {
  readonly events: Pick<EventFeed, 'watch'>
  readonly log: Logger
  readonly stopped: Promise<void>
  readonly isStopping: () => boolean
  readonly onEvents: () => void
}

/** Watches the event log until a worker stops. It only makes the worker faster: polling finds work that was not announced. */
export async function keepWatching({ events, log, stopped, isStopping, onEvents }: WatchOptions): Promise<void> {
  while (!isStopping()) {
    try {
      const stopWatching = await events.watch(onEvents)
      void stopped.finally(stopWatching)
      return
    } catch (error) {
      log.warn({ err: error }, 'changes are not announced to this worker; it polls for them')
      await sleep(listenAgainMilliseconds, undefined, { ref: false })
    }
  }
}
