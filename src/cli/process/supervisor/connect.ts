import cluster from 'node:cluster'
import { Registry } from '@prometheus-io/client'
import type { MetricsSource } from '../../../engine/http/plugins/metrics-route.ts'
import { createSharedCounts, type SharedCounts } from '../../../engine/limits/shared-counts.ts'
import { createStopRequests, type OnStopRequest } from '../stop-requests.ts'
import { createCalls } from './calls.ts'
import type { MessageOfChild, MessageOfSupervisor } from './messages.ts'

/** What a process that serves gets from its supervisor. */
export interface Supervisor {
  readonly onStopRequest: OnStopRequest
  /** The points and the recent writes of all processes. */
  readonly counts: SharedCounts
  /** The metrics of all processes. */
  readonly metrics: MetricsSource
  /**
   * Reports the metrics of this process whenever the supervisor asks for them.
   *
   * @returns reports them for the last time
   */
  shareMetrics(registry: Registry): () => Promise<void>
  /** Tells the supervisor that this process serves. */
  ready(address: string): void
}

/**
 * Connects this process to the supervisor that started it. From here on, the supervisor tells it when to stop. Ctrl-C and the end of
 * a terminal reach all processes, but only the supervisor obeys them. SIGTERM stops this process gracefully, and the supervisor
 * replaces it. When the supervisor has been killed, this process stops gracefully.
 */
export function connectToSupervisor(): Supervisor {
  const { call, receive, end } = createCalls((calls) => send({ type: 'calls', calls }))
  const ownCounts = createSharedCounts()
  const stopRequests = createStopRequests()
  let report = async () => {}

  process.on('message', (message: MessageOfSupervisor) => {
    if (message.type === 'replies') receive(message.replies)
    else if (message.type === 'reportMetrics') report().catch(() => undefined)
    else stopRequests.receive(message.type)
  })
  for (const signal of ['SIGINT', 'SIGHUP']) process.on(signal, () => undefined)
  process.on('SIGTERM', () => stopRequests.receive('stop'))
  cluster.worker?.once('disconnect', () => {
    // Otherwise node:cluster ends the process at once.
    if (cluster.worker) cluster.worker.exitedAfterDisconnect = true
    end()
    stopRequests.receive('stop')
  })
  // The channel to the supervisor alone does not keep this process running.
  process.channel?.unref()

  return {
    onStopRequest: stopRequests.onNext,
    counts: {
      // While this process stops without a supervisor, it counts by itself.
      takePoints: (...args) => call('takePoints', ...args).catch(() => ownCounts.takePoints(...args)),
      remember: (...args) => call('remember', ...args).catch(() => ownCounts.remember(...args)),
      remembers: (...args) => call('remembers', ...args).catch(() => ownCounts.remembers(...args)),
    },
    metrics: { contentType: Registry.PROMETHEUS_CONTENT_TYPE, metrics: () => call('readMetrics') },
    shareMetrics(registry) {
      report = async () => call('reportMetrics', await registry.getMetricsAsJSON())
      return async () => {
        process.channel?.ref()
        // The reply comes after all connections that were on their way to this process. It has refused them, and the supervisor has
        // passed them to another process. If this process ended before, they would hang.
        await report().catch(() => undefined)
        process.channel?.unref()
      }
    },
    ready: (address) => send({ type: 'ready', address }),
  }
}

function send(message: MessageOfChild): void {
  // With a callback, a supervisor that has just ended is no uncaught error.
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined)
}
