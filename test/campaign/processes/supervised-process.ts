import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { peakMemory } from '../../attacks/neighbours.ts'
import type { TcpProxy } from '../../support/proxy.ts'

/** A gateway or a worker, which is started again whenever it was stopped. */
export interface SupervisedProcess {
  readonly name: string
  /** Between the process and the database. */
  readonly proxy: TcpProxy
  pid(): number | undefined
  /** The output of the present process. */
  output(): string
  /** Sends a signal, waits until the process has exited, and starts it again. */
  restart(signal: NodeJS.Signals): Promise<void>
  /** Suspends the process for some seconds. */
  pause(seconds: number): Promise<void>
  /** The most resident memory so far, in MiB. */
  memory(): number
  stop(): Promise<void>
}

interface Started {
  readonly child: ChildProcess
  output(): string
}

/** `SHUTDOWN_TIMEOUT`, and ten seconds for a busy machine. */
const maxStopMilliseconds = 20_000

const maxStartMilliseconds = 90_000

/**
 * Starts a process and watches it: an exit that was not asked for, an error in its log and a warning of Node are
 * problems.
 *
 * @param start rejects if the process exits, such as while the database is down. Then it is called again
 */
export async function superviseProcess(
  name: string,
  proxy: TcpProxy,
  start: () => Promise<Started>,
  note: (problem: string) => void,
): Promise<SupervisedProcess> {
  let isStopping = false
  let memory = 0
  let current = await begin()

  async function begin(): Promise<Started> {
    const startedAt = performance.now()
    for (;;) {
      try {
        const started = await start()
        watch(started)
        isStopping = false
        return started
      } catch (error) {
        // The message of an operator's error has no stack.
        if (/^ {4}at /m.test(String((error as Error).message))) note(`${name} failed to start: ${error}`)
        if (performance.now() - startedAt > maxStartMilliseconds) throw error
        await sleep(500)
      }
    }
  }

  function watch({ child }: Started): void {
    const { stdout, stderr } = child as { stdout: NodeJS.ReadableStream; stderr: NodeJS.ReadableStream }
    createInterface({ input: stdout }).on('line', (line) => {
      if (isDefect(line)) note(`${name} logged: ${line.slice(0, 1_000)}`)
    })
    createInterface({ input: stderr }).on('line', (line) => {
      if (!/^(Debugger|For help)/.test(line)) note(`${name} wrote to stderr: ${line}`)
    })
    child.once('exit', (code, signal) => {
      if (!isStopping) note(`${name} exited with ${code ?? signal}`)
    })
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    const { child } = current
    if (hasExited(child)) return
    memory = Math.max(memory, peakMemory(child))
    isStopping = true
    const startedAt = performance.now()
    child.kill(signal)
    const [code] = (await once(child, 'exit')) as [number | null]
    const milliseconds = performance.now() - startedAt
    if (signal === 'SIGKILL') return
    if (code !== 0) note(`${name} exited with ${code} after ${signal}`)
    if (milliseconds > maxStopMilliseconds) note(`${name} took ${Math.round(milliseconds)} ms to stop`)
  }

  return {
    name,
    proxy,
    pid: () => current.child.pid,
    output: () => current.output(),
    async restart(signal) {
      await end(signal)
      current = await begin()
    },
    async pause(seconds) {
      current.child.kill('SIGSTOP')
      await sleep(seconds * 1_000)
      current.child.kill('SIGCONT')
    },
    memory: () => (hasExited(current.child) ? memory : Math.max(memory, peakMemory(current.child))),
    async stop() {
      await end('SIGTERM')
      await proxy.close()
    },
  }
}

function hasExited({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}

/** Whether a line of the log reports a defect. That the database is unavailable is expected. */
function isDefect(line: string): boolean {
  return /^\{"level":[56]0,/.test(line) && !line.includes('"msg":"the database is unavailable"')
}
