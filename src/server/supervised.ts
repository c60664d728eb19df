import cluster from 'node:cluster'
import { on } from 'node:events'
import { AggregatorRegistry, Registry } from '@prometheus-io/client'
import { GatewayError } from '../engine/errors.ts'
import { createStopRequests } from './stop.ts'

/** A message of a child: that it serves, or that it asks for the metrics of all children. */
export type MessageOfChild = { readonly type: 'ready'; readonly address: string } | { readonly type: 'readMetrics' }

/** A message to a child. `metrics` has no text if they could not be read. */
type MessageOfSupervisor = { readonly type: 'drain' | 'stop' | 'stopAtOnce' | 'metrics'; readonly text?: string }

/** What a process that serves gets from its supervisor. */
export type Supervisor = ReturnType<typeof connectToSupervisor>

/**
 * Connects this process to the supervisor that started it. From here on, the supervisor tells it when to stop. Ctrl-C
 * and the end of a terminal reach all processes, but only the supervisor obeys them. SIGTERM stops this process
 * gracefully, and the supervisor replaces it. When the supervisor has been killed, this process stops gracefully.
 */
export function connectToSupervisor() {
  const { receive, onNext: onStopRequest } = createStopRequests()
  const { worker } = cluster
  const aggregator = new AggregatorRegistry()
  const draining = new AbortController()
  process.on('message', ({ type }: MessageOfSupervisor) => {
    if (type === 'drain') draining.abort()
    if (type === 'stop' || type === 'stopAtOnce') receive(type)
  })
  for (const signal of ['SIGINT', 'SIGHUP']) process.on(signal, () => undefined)
  process.on('SIGTERM', () => receive('stop'))
  // A message to a supervisor that has just ended. Its end is another event.
  process.on('error', () => undefined)
  worker?.once('disconnect', () => {
    // Otherwise node:cluster ends the process at once.
    worker.exitedAfterDisconnect = true
    receive('stop')
  })
  // The channel to the supervisor alone does not keep this process running.
  process.channel?.unref()

  return {
    onStopRequest,
    /** Aborted when all processes will stop. */
    draining: draining.signal,
    /** The metrics of all processes. */
    metrics: { contentType: Registry.PROMETHEUS_CONTENT_TYPE, metrics: readMetrics },
    /**
     * Adds the metrics of this process to those of all processes.
     *
     * @returns a function that leaves the counts with the supervisor: without them the sums would fall, which looks
     *   like a restart. It waits for the supervisor's reply. Connections that were passed to this process arrive before
     *   the reply, and are refused, not left hanging
     */
    shareMetrics(registry: Registry): () => Promise<void> {
      AggregatorRegistry.setRegistries(registry)
      return async () => {
        for (const { name, type } of registry.getMetricsAsArray()) {
          if (String(type) === 'gauge') registry.removeSingleMetric(name)
        }
        if (process.connected) await aggregator.shutdown().catch(() => undefined)
      }
    },
    /** Tells the supervisor that this process serves. */
    ready: (address: string) => send({ type: 'ready', address }),
  }
}

async function readMetrics(): Promise<string> {
  send({ type: 'readMetrics' })
  for await (const [{ type, text }] of process.connected ? on(process, 'message', { close: ['disconnect'] }) : []) {
    if (text !== undefined) return text
    if (type === 'metrics') break
  }
  throw new GatewayError('SERVICE_UNAVAILABLE', 'A process does not report its metrics.')
}

const send = (message: MessageOfChild) => process.send?.(message)
