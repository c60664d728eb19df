import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Child, End } from './child.ts'

/** A child that has run for so long has not failed. */
const steadyMilliseconds = 10_000

/** The longest pause before a child is replaced, after others have failed. */
const maxPauseMilliseconds = 30_000

/** After so many failures in a row the pool gives up, unless a child serves. */
const maxFailures = 5

/** How much longer than allowed a child may take to stop before it is killed. */
const exitMilliseconds = 1_000

/** The children of a supervisor. */
export interface ProcessPool {
  /** The children that serve, or stop. */
  readonly serving: ReadonlySet<Child>
  /**
   * Starts the children, and replaces those that end.
   *
   * @param onReady called with their address when all of them serve
   * @returns the exit code, when all have ended
   */
  run(onReady: (address: string) => void): Promise<number>
  /** Replaces the children one by one: a new one serves before an old one stops. */
  restart(): void
  /** Stops the children gracefully. */
  stop(): void
  /** Closes the connections in use too, while the children stop. */
  stopAtOnce(): void
}

export interface ProcessPoolOptions {
  readonly size: number
  readonly startChild: () => Child
  /** How long a child may take to stop. */
  readonly shutdownMilliseconds: number
  readonly log: Logger
}

/** Creates a pool without processes. */
export function createProcessPool({ size, startChild, shutdownMilliseconds, log }: ProcessPoolOptions): ProcessPool {
  const children = new Set<Child>()
  const serving = new Set<Child>()
  /** The children that a restart replaces. */
  const leaving = new WeakSet<Child>()
  const stopping = new AbortController()
  const { promise: stopped, resolve: setStopped } = Promise.withResolvers<void>()
  const { promise: ready, resolve: setReady } = Promise.withResolvers<void>()
  let restarts = ready
  let isRestartDue = false
  let failures = 0
  let exitCode = 0

  const isStopping = () => stopping.signal.aborted
  const maxMilliseconds = shutdownMilliseconds + exitMilliseconds

  /** @returns a new child, and the address that it serves; undefined if it has ended before */
  async function start(): Promise<{ child: Child; address: string | undefined }> {
    const child = startChild()
    children.add(child)
    if (isStopping()) child.stop(maxMilliseconds)
    child.ended.then(() => {
      children.delete(child)
      serving.delete(child)
    })
    const address = await child.ready
    if (address !== undefined) serving.add(child)
    return { child, address }
  }

  async function replaceWhenEnded(child: Child): Promise<void> {
    const timer = setTimeout(() => {
      failures = 0
    }, steadyMilliseconds)
    const end = await child.ended
    clearTimeout(timer)
    if (isStopping() || leaving.has(child)) return
    log.warn({ child: child.pid, ...end }, 'a process has ended: another one replaces it')
    await replace()
  }

  async function replace(): Promise<void> {
    const pause = failures === 0 ? 0 : Math.min(1_000 * 2 ** (failures - 1), maxPauseMilliseconds)
    failures += 1
    await sleep(pause, undefined, { signal: stopping.signal }).catch(() => undefined)
    if (isStopping()) return
    const { child, address } = await start()
    if (address !== undefined) return replaceWhenEnded(child)
    if (isStopping()) return
    if (failures >= maxFailures && serving.size === 0) giveUp(await child.ended)
    else await replace()
  }

  /** Ends like a child that did not start. It has printed its error. */
  function giveUp({ code, signal }: End): void {
    if (isStopping()) return
    exitCode = code || 1
    if (signal !== null) log.error({ signal }, 'a process was killed before it served')
    stop()
  }

  function stop(): void {
    if (isStopping()) return
    stopping.abort()
    for (const child of children) child.stop(maxMilliseconds)
    setStopped()
  }

  async function restartAll(): Promise<void> {
    isRestartDue = false
    log.info('restarting')
    for (const old of [...serving]) {
      // The replacement of a child that has ended is new.
      if (!serving.has(old)) continue
      if (isStopping()) return
      leaving.add(old)
      const { child, address } = await start()
      if (address === undefined) {
        leaving.delete(old)
        if (!isStopping()) log.error('a new process did not start: the old ones go on')
        if (!children.has(old)) replace()
        return
      }
      replaceWhenEnded(child)
      old.stop(maxMilliseconds)
      await old.ended
    }
    log.info('restarted')
  }

  return {
    serving,
    async run(onReady) {
      // The first one alone, so that a wrong configuration is reported once.
      const first = await start()
      const others =
        first.address === undefined || isStopping() ? [] : await Promise.all(Array.from({ length: size - 1 }, start))
      const failed = [first, ...others].find(({ address }) => address === undefined)
      if (failed) giveUp(await failed.child.ended)
      for (const { child } of [first, ...others]) replaceWhenEnded(child)
      if (first.address !== undefined && !isStopping()) onReady(first.address)
      setReady()
      await stopped
      await Promise.all([...children].map(({ ended }) => ended))
      return exitCode
    },
    restart() {
      if (isRestartDue) return
      isRestartDue = true
      restarts = restarts.then(restartAll)
    },
    stop,
    stopAtOnce() {
      for (const child of children) child.stopAtOnce()
    },
  }
}
