import cluster from 'node:cluster'
import { Registry } from 'prom-client'
import type { MetricsSource } from '../../../http/plugins/metrics-route.ts'
import { createSharedCounts, type SharedCounts } from '../../../limits/shared-counts.ts'
import { createAsked } from './ask.ts'
import type { MessageOfChild, MessageOfSupervisor } from './messages.ts'

/** What a process that serves gets from its supervisor. */
export interface Supervisor {
  /** Calls the listener once, at the next order to stop: the first one is to stop gracefully, the second one at once. */
  onStopOrder(listener: () => void): void
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
  const { ask, receive, end } = createAsked((questions) => send({ type: 'ask', questions }))
  const ownCounts = createSharedCounts()
  const orders = createOrders()
  let report = async () => {}

  process.on('message', (message: MessageOfSupervisor) => {
    if (message.type === 'answer') receive(message.answers)
    else if (message.type === 'reportMetrics') report().catch(() => undefined)
    else orders.give(message.type)
  })
  for (const signal of ['SIGINT', 'SIGHUP']) process.on(signal, () => undefined)
  process.on('SIGTERM', () => orders.give('stop'))
  cluster.worker?.once('disconnect', () => {
    // Otherwise node:cluster ends the process at once.
    if (cluster.worker) cluster.worker.exitedAfterDisconnect = true
    end()
    orders.give('stop')
  })
  // The channel to the supervisor alone does not keep this process running.
  process.channel?.unref()

  return {
    onStopOrder: orders.onNext,
    counts: {
      // While this process stops without a supervisor, it counts by itself.
      takePoints: (...args) => ask('takePoints', ...args).catch(() => ownCounts.takePoints(...args)),
      remember: (...args) => ask('remember', ...args).catch(() => ownCounts.remember(...args)),
      remembers: (...args) => ask('remembers', ...args).catch(() => ownCounts.remembers(...args)),
    },
    metrics: { contentType: Registry.PROMETHEUS_CONTENT_TYPE, metrics: () => ask('readMetrics') },
    shareMetrics(registry) {
      report = async () => ask('reportMetrics', await registry.getMetricsAsJSON())
      return async () => {
        process.channel?.ref()
        // The answer comes after all connections that were on their way to this process. It has refused them, and the supervisor has
        // passed them to another process. If this process ended before, they would hang.
        await report().catch(() => undefined)
        process.channel?.unref()
      }
    },
    ready: (address) => send({ type: 'ready', address }),
  }
}

/** The orders to stop. An order that nobody waits for yet is kept. */
function createOrders() {
  const listeners: (() => void)[] = []
  let given = 0
  let kept = 0

  return {
    /** Gives an order. Only the first `stop` counts: a signal to all processes and the supervisor's message are one order. */
    give(order: 'stop' | 'stopAtOnce'): void {
      if (order === 'stop' && given > 0) return
      given += 1
      const listener = listeners.shift()
      if (listener) listener()
      else kept += 1
    },
    onNext(listener: () => void): void {
      if (kept === 0) {
        listeners.push(listener)
        return
      }
      kept -= 1
      listener()
    },
  }
}

function send(message: MessageOfChild): void {
  // With a callback, a supervisor that has just ended is no uncaught error.
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined)
}
