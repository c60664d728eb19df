import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { Io } from '../../src/cli/io.ts'
import { run } from '../../src/cli/run.ts'

const entry = path.resolve(import.meta.dirname, '../../bin/fusion.js')

/** The environment of a command: that of this process, without the configuration of a gateway. */
function environment(env: Record<string, string>): NodeJS.ProcessEnv {
  const { DATABASE_URL: _url, DATA_DIR: _dir, PORT: _port, OTEL_EXPORTER_OTLP_ENDPOINT: _, ...rest } = process.env
  return { ...rest, LOG_LEVEL: 'info', DRAIN_DELAY: '0', ...env }
}

/** What a command has written when it has ended, and its exit code. */
export interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/**
 * Runs `fusion …` to its end. A command that uses more of its process than streams has one of its own: it waits for
 * signals, or packages read the environment for it (`PGPASSWORD`, `HOME`).
 */
export function fusion(args: readonly string[], env: Record<string, string>): Promise<Ended> {
  const [command = ''] = args
  const isOfProcess = ['serve', 'work', 'mcp'].includes(command) || Object.keys(env).some((name) => !isOfGateway(name))
  return (isOfProcess ? runProcess : runHere)(args, env)
}

/** Whether the gateway itself reads a variable, and nobody else. */
const isOfGateway = (name: string) => !/^(PG|NODE_|HOME$|TZ$|SSL_)/.test(name)

/**
 * Runs `fusion …` to its end, within this process.
 *
 * @param io what it uses instead of an empty stdin and the configured database
 */
export async function runHere(
  args: readonly string[],
  env: Record<string, string>,
  io: Partial<Pick<Io, 'stdin' | 'openDatabase'>> = {},
): Promise<Ended> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const written = Promise.all([text(stdout), text(stderr)])
  const code = await run(args, { stdin: Readable.from([]), ...io, stdout, stderr, env: environment(env) })
  stdout.end()
  stderr.end()
  const [out, err] = await written
  return { code, stdout: out, stderr: err }
}

/**
 * Runs `fusion …` in a process of its own, to its end.
 *
 * @param command the file of the command `fusion`, of another version for example
 */
export async function runProcess(
  args: readonly string[],
  env: Record<string, string>,
  command = entry,
): Promise<Ended> {
  const child = spawn(process.execPath, [command, ...args], {
    env: environment(env),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code: code as number, stdout, stderr }
}

/** A command in a process of its own, which runs until it gets a signal. */
export interface RunningCommand {
  readonly child: ChildProcess
  /** The output so far. */
  readonly output: () => string
  /** Sends a signal and waits until the process has exited. */
  stop(signal?: NodeJS.Signals): Promise<{ code: number | null; milliseconds: number }>
}

/** How a command is started. */
interface Start {
  /** A command that runs another one, which is `fusion`. */
  readonly within?: readonly string[]
  /** The file of the command `fusion`, of another version for example. */
  readonly command?: string
  /** Options of Node. */
  readonly options?: readonly string[]
}

/**
 * Starts a command and waits until its output is what the test waits for. Rejects with its output if it exits before.
 *
 * @param until a part of the output, or whether the output is complete
 */
export async function startCommand(
  args: readonly string[],
  env: Record<string, string>,
  until: string | ((output: string) => boolean),
  { within = [], command = entry, options = [] }: Start = {},
): Promise<RunningCommand> {
  const [program, ...rest] = [...within, process.execPath, ...options, command, ...args] as [string, ...string[]]
  const child = spawn(program, rest, { env: environment(env), stdio: ['ignore', 'pipe', 'pipe'] })
  // A script that fails, or whose reader has gone, leaves no gateway behind.
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  child.once('exit', () => process.off('exit', kill))
  const isComplete = typeof until === 'string' ? (text: string) => text.includes(until) : until
  let output = ''
  let isStarted = false
  // The last lines can arrive after the end of the process.
  const closed = once(child, 'close')
  await new Promise<void>((resolve, reject) => {
    const read = (chunk: Buffer) => {
      output += chunk.toString()
      // The output can become long, so it is searched only until the start.
      if (isStarted || !isComplete(output)) return
      isStarted = true
      resolve()
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    child.once('exit', (code) => reject(new Error(`fusion ${args[0]} exited with ${code}:\n${output}`)))
  })
  return {
    child,
    output: () => output,
    async stop(signal = 'SIGTERM') {
      const started = performance.now()
      const exited = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : closed
      child.kill(signal)
      await exited
      const milliseconds = performance.now() - started
      const [code] = (await closed) as [number | null]
      return { code, milliseconds }
    },
  }
}

/** A gateway in a process of its own. */
export interface RunningGateway extends RunningCommand {
  readonly address: string
}

/** A busy machine delays every event loop. A gateway that is late must not reject what a test sends. */
const neverLate = `import { syncBuiltinESMExports } from 'node:module'
  import hooks from 'node:perf_hooks'
  const { monitorEventLoopDelay } = hooks
  const values = { count: { value: 1 }, mean: { value: 0 } }
  hooks.monitorEventLoopDelay = (options) => Object.defineProperties(monitorEventLoopDelay(options), values)
  syncBuiltinESMExports()`

const listening = /Server listening at (http:\/\/[\d.:]+)/

/** Starts `fusion serve` on a free port and waits until it listens. Rejects with its output if it exits instead. */
export async function startGateway(
  env: Record<string, string>,
  args: readonly string[] = [],
  start: Start = {},
): Promise<RunningGateway> {
  const command = await startCommand(
    ['serve', ...args],
    { PORT: '0', ...env },
    // The welcome of the demo follows. Waiting for it makes the output complete.
    (output) => listening.test(output) && (!!env['DATABASE_URL'] || output.includes('OpenAPI')),
    { ...start, options: [`--import=data:text/javascript,${encodeURIComponent(neverLate)}`, ...(start.options ?? [])] },
  )
  return { ...command, address: listening.exec(command.output())?.[1] ?? '' }
}
