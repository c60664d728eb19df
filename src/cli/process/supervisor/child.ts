import cluster, { type Worker } from 'node:cluster'
import { createBatch } from './batch.ts'
import type { Call, MessageOfChild, MessageOfSupervisor, Reply, SupervisorMethods } from './messages.ts'

/** How a process has ended. */
export interface End {
  readonly code: number | null
  readonly signal: string | null
}

/** A process that serves, as its supervisor sees it. */
export interface Child {
  readonly pid: number
  /** Resolves with the address that it serves; undefined if it ends before. */
  readonly ready: Promise<string | undefined>
  readonly ended: Promise<End>
  /** Tells it to stop gracefully, and kills it if that takes too long. */
  stop(maxMilliseconds: number): void
  /** Tells a child that stops to close the connections in use too. */
  stopAtOnce(): void
  /** Asks for a report of its metrics. Resolves when it has come, or the child has ended. */
  reportMetrics(): Promise<void>
}

/**
 * Starts a process that serves, with the arguments of this one.
 *
 * @param calls executes the calls of the child
 */
export function startChild(calls: SupervisorMethods): Child {
  const worker = cluster.fork()
  closeLostConnection(worker)
  const { promise: ready, resolve: setReady } = Promise.withResolvers<string | undefined>()
  const { promise: ended, resolve: setEnded } = Promise.withResolvers<End>()
  let reported = Promise.withResolvers<void>()

  // With a callback, a child that has just ended is no uncaught error.
  const send = (message: MessageOfSupervisor) => void worker.send(message, () => undefined)
  const addReply = createBatch<Reply>((replies) => send({ type: 'replies', replies }))

  async function respond(call: Call): Promise<void> {
    addReply(await execute(calls, call))
    if (call.name !== 'reportMetrics') return
    reported.resolve()
    reported = Promise.withResolvers()
  }

  worker.on('message', (message: MessageOfChild) => {
    if (message.type === 'ready') setReady(message.address)
    else for (const call of message.calls) respond(call)
  })
  worker.once('exit', (code: number | null, signal: string | null) => {
    setReady(undefined)
    setEnded({ code, signal })
    reported.resolve()
  })

  return {
    ...{ pid: worker.process.pid ?? 0, ready, ended },
    stop(maxMilliseconds) {
      send({ type: 'stop' })
      const timer = setTimeout(() => worker.process.kill('SIGKILL'), maxMilliseconds)
      ended.then(() => clearTimeout(timer))
    },
    stopAtOnce: () => send({ type: 'stopAtOnce' }),
    reportMetrics() {
      send({ type: 'reportMetrics' })
      return reported.promise
    },
  }
}

/**
 * Closes the connection that was on its way to a process when it was killed. node:cluster, which passes one connection at a time to
 * each process, would keep it, and its client would wait forever.
 */
function closeLostConnection(worker: Worker): void {
  const { process: child } = worker
  const send = child.send.bind(child) as (...args: unknown[]) => boolean
  let last: { close?: () => void } | undefined
  Object.assign(child, {
    send(message: unknown, connection?: { close?: () => void }, ...rest: unknown[]): boolean {
      last = connection ?? last
      return send(message, connection, ...rest)
    },
  })
  // Closing a connection that the process had accepted does nothing: node:cluster has closed it here.
  worker.once('exit', (_code, signal) => signal && last?.close?.())
  // A message to a process that has just ended. Its end is another event.
  worker.on('error', () => undefined)
}

async function execute(calls: SupervisorMethods, { id, name, args }: Call): Promise<Reply> {
  try {
    const method = calls[name] as (...args: readonly unknown[]) => Promise<unknown>
    return { id, value: await method(...args) }
  } catch (error) {
    // A newer version may call what this one does not know.
    return { id, error: String(error) }
  }
}
