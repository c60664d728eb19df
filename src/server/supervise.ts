import type { Worker } from 'node:cluster'
import cluster from 'node:cluster'
import { on, once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { isatty } from 'node:tty'
import { GatewayError, OperatorError } from '@fusion-gateway/base'
import { serveMetrics } from '@fusion-gateway/http'
import { createLogger } from '@fusion-gateway/telemetry'
import { AggregatorRegistry, Registry } from '@prometheus-io/client'
import type { Logger } from 'pino'
import { readServerConfig } from '../config.ts'
import { createStopRequests, exitWhenDone, obeySignals } from './stop.ts'

/** A message of a child: that it serves, or that it asks for the metrics of all children. */
type MessageOfChild = { readonly type: 'ready'; readonly address: string } | { readonly type: 'readMetrics' }

/** A message to a child. `metrics` has no text if they could not be read. */
type MessageOfSupervisor = { readonly type: 'drain' | 'stop' | 'stopAtOnce' | 'metrics'; readonly text?: string }

/** The longest pause between two attempts to replace a child. */
const maxPauseMilliseconds = 30_000

/** After so many failed attempts in a row the pool gives up, unless a child serves. */
const maxFailures = 5

/**
 * Creates a pool of processes that serve. It is empty until it runs. A child that takes longer than allowed to stop is
 * killed.
 */
function createProcessPool(size: number, maxStopMilliseconds: number, log: Logger) {
  const children = new Set<Worker>()
  /** The children that serve, and are replaced when they end. */
  const serving = new Set<Worker>()
  const stopping = new AbortController()
  const isStopping = () => stopping.signal.aborted
  /** The start or restart that began last. One follows the other. */
  let lastChange = Promise.resolve()
  let address = ''
  /** The code of the last child that has ended. One that did not serve has printed its error. */
  let lastCode = 1

  /** @returns a new child that serves; undefined if it has ended before */
  function start(): Promise<Worker | undefined> {
    const child = cluster.fork()
    children.add(child)
    closeLostConnection(child)
    // A message to a process that has just ended. Its end is another event.
    child.on('error', () => undefined)
    return new Promise((resolve) => {
      child.on('message', (message: MessageOfChild) => {
        if (message.type !== 'ready') return
        address = message.address
        serving.add(child)
        resolve(child)
      })
      child.once('exit', (code: number | null, signal: string | null) => {
        const end = { child: child.process.pid, code, signal }
        children.delete(child)
        lastCode = code || 1
        if (serving.delete(child) && !isStopping()) {
          log.warn(end, 'a process has ended: another one replaces it')
          replace()
        } else if (signal) log.error(end, 'a process was killed')
        resolve(undefined)
      })
    })
  }

  async function replace(): Promise<void> {
    for (let failures = 0; failures < maxFailures || serving.size > 0; failures += 1) {
      const pause = failures === 0 ? 0 : Math.min(500 * 2 ** (failures - 1), maxPauseMilliseconds)
      await sleep(pause, undefined, { signal: stopping.signal }).catch(() => undefined)
      if (isStopping() || (await start())) return
    }
    stop(lastCode)
  }

  function stopChild(child: Worker): void {
    serving.delete(child)
    child.send({ type: 'stop' })
    setTimeout(() => child.process.kill('SIGKILL'), maxStopMilliseconds).unref()
  }

  function stop(code = 0): void {
    if (isStopping()) return
    process.exitCode = code
    stopping.abort()
    for (const child of children) stopChild(child)
  }

  async function startAll(): Promise<void> {
    // The first one alone, so that a wrong configuration is reported once.
    const first = await start()
    const others = first && !isStopping() ? await Promise.all(Array.from({ length: size - 1 }, start)) : [first]
    if (others.includes(undefined)) stop(lastCode)
    else if (!isStopping()) log.info({ processes: size }, `Server listening at ${address}`)
  }

  async function restartAll(): Promise<void> {
    log.info('restarting')
    for (const old of [...serving]) {
      // A child that has ended meanwhile was already replaced.
      if (!serving.has(old)) continue
      const successor = await start()
      if (isStopping()) return
      if (!successor) return log.error('a new process did not start: the old ones go on')
      const surplus = serving.has(old) ? old : successor
      stopChild(surplus)
      while (children.has(surplus)) await once(cluster, 'exit')
    }
    log.info('restarted')
  }

  return {
    /** Starts the children, and replaces those that end. Resolves when all have ended, and sets the exit code. */
    async run(): Promise<void> {
      if (isStopping()) return
      lastChange = startAll()
      await once(stopping.signal, 'abort')
      while (children.size > 0) await once(cluster, 'exit')
    },
    /** Replaces the children one by one: a new one serves before an old one stops. */
    restart(): void {
      lastChange = lastChange.then(restartAll)
    },
    /** Lets the children say that they will stop. */
    drain(): void {
      for (const child of children) child.send({ type: 'drain' })
    },
    stop,
    /** Closes the connections in use too, while the children stop. */
    stopAtOnce(): void {
      for (const child of children) child.send({ type: 'stopAtOnce' })
    },
  }
}

/**
 * Closes the connection that was on its way to a child when the child was killed. node:cluster passes one connection at
 * a time to each child. It would keep this one, and its client would wait forever.
 */
function closeLostConnection({ process: child }: Worker): void {
  const send = child.send.bind(child) as (...args: unknown[]) => boolean
  let last: { close?: () => void } | undefined
  const remember = (message: unknown, connection?: typeof last, ...rest: unknown[]) => {
    last = connection ?? last
    return send(message, connection, ...rest)
  }
  Object.assign(child, { send: remember })
  // Closing a connection that the child had accepted does nothing: node:cluster has closed it here.
  child.once('exit', (_code, signal) => signal && last?.close?.())
}

/**
 * Serves with several processes on one port until it is told to stop. This process is their supervisor: it passes
 * connections to them, replaces those that end, sums their metrics, and serves no requests itself.
 *
 * @param size the number of processes
 * @throws OperatorError on the embedded database
 */
export async function supervise({ env }: { readonly env: NodeJS.ProcessEnv }, size: number): Promise<void> {
  const config = readServerConfig(env)
  const { database, shutdownMilliseconds, drainMilliseconds, logLevel, logFormat } = config
  if (database.kind === 'embedded') {
    throw new OperatorError(
      `--processes ${size} needs PostgreSQL, because only one process can open the embedded database. Set DATABASE_URL.`,
    )
  }
  // A child ends by itself when it has taken too long to stop. One that cannot is killed a second later.
  const pool = createProcessPool(size, shutdownMilliseconds + 1_000, createLogger({ logLevel, logFormat }))
  obeySignals(['SIGINT', 'SIGTERM'], pool, drainMilliseconds)
  // On a terminal, SIGHUP says that the terminal is closed.
  process.on('SIGHUP', isatty(0) ? () => pool.stop() : pool.restart)
  const aggregator = new AggregatorRegistry()
  const metrics = () => aggregator.clusterMetrics()
  cluster.on('message', async (worker, { type }: MessageOfChild) => {
    if (type === 'readMetrics') worker.send({ type: 'metrics', text: await metrics().catch(() => undefined) })
  })
  const stopMetrics = await serveMetrics({ contentType: Registry.PROMETHEUS_CONTENT_TYPE, metrics }, config)
  await pool.run()
  await stopMetrics()
  // node:cluster keeps a connection that was on its way to a process which has ended. It would keep this process
  // running.
  exitWhenDone()
}

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
    ready: (address: string) => report({ type: 'ready', address }),
  }
}

async function readMetrics(): Promise<string> {
  report({ type: 'readMetrics' })
  for await (const [{ type, text }] of process.connected ? on(process, 'message', { close: ['disconnect'] }) : []) {
    if (text !== undefined) return text
    if (type === 'metrics') break
  }
  throw new GatewayError('SERVICE_UNAVAILABLE', 'A process does not report its metrics.')
}

const report = (message: MessageOfChild) => process.send?.(message)
