import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { run } from '../../src/cli/run.ts'

const entry = path.resolve(import.meta.dirname, '../../bin/fusion.js')

/** The environment of a command: that of this process, without the configuration of a gateway. */
function environment(env: Record<string, string>): NodeJS.ProcessEnv {
  const { DATABASE_URL: _url, DATA_DIR: _dir, PORT: _port, OTEL_EXPORTER_OTLP_ENDPOINT: _, ...rest } = process.env
  return { ...rest, LOG_LEVEL: 'info', DATABASE_WAIT: '0', DRAIN_DELAY: '0', ...env }
}

/** What a command has written when it has ended, and its exit code. */
interface Ended {
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

/** Runs `fusion …` to its end, within this process. */
export async function runHere(args: readonly string[], env: Record<string, string>): Promise<Ended> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const written = Promise.all([text(stdout), text(stderr)])
  const code = await run(args, { stdin: Readable.from([]), stdout, stderr, env: environment(env) })
  stdout.end()
  stderr.end()
  const [out, err] = await written
  return { code, stdout: out, stderr: err }
}

/** Runs `fusion …` in a process of its own, to its end. */
async function runProcess(args: readonly string[], env: Record<string, string>): Promise<Ended> {
  const child = spawn(process.execPath, [entry, ...args], { env: environment(env), stdio: ['ignore', 'pipe', 'pipe'] })
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code: code as number, stdout, stderr }
}

/** A gateway in a process of its own. */
export interface RunningGateway {
  readonly address: string
  /** The output so far. */
  readonly output: () => string
  readonly child: ChildProcess
  /** Sends a signal and waits until the process has exited. */
  stop(signal?: NodeJS.Signals): Promise<{ code: number | null; milliseconds: number }>
}

/**
 * Starts `fusion serve` on a free port and waits until it listens. Rejects with its output if it exits instead.
 *
 * @param within a command that runs another one, which is that of the gateway
 * @param command the file of the command `fusion`, of another version for example
 */
export async function startGateway(
  env: Record<string, string>,
  args: readonly string[] = [],
  within: readonly string[] = [],
  command = entry,
): Promise<RunningGateway> {
  const [program, ...rest] = [...within, process.execPath, command, 'serve', ...args] as [string, ...string[]]
  const child = spawn(program, rest, {
    // A busy machine delays every event loop. A gateway that is late must not reject what a test sends.
    env: environment({ PORT: '0', MAX_EVENT_LOOP_DELAY: '60', ...env }),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  let isListening = false
  const address = await new Promise<string>((resolve, reject) => {
    const read = (chunk: Buffer) => {
      output += chunk.toString()
      // The output can become long, so the address is searched only once.
      if (isListening) return
      const found = /Server listening at (http:\/\/[\d.:]+)/.exec(output)?.[1]
      // The welcome of the demo follows. Waiting for it makes `output` complete.
      if (!found || !(env['DATABASE_URL'] || output.includes('OpenAPI'))) return
      isListening = true
      resolve(found)
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    child.once('exit', (code) => reject(new Error(`The gateway exited with ${code}:\n${output}`)))
  })
  return {
    address,
    output: () => output,
    child,
    async stop(signal = 'SIGINT') {
      const started = performance.now()
      // The last lines can arrive after the end of the process.
      const closed = once(child, 'close')
      child.kill(signal)
      const [code] = await once(child, 'exit')
      const milliseconds = performance.now() - started
      await closed
      return { code: code as number | null, milliseconds }
    },
  }
}

/** A command that runs until it gets a signal. */
export interface RunningCommand {
  readonly child: ChildProcess
  readonly output: () => string
  /** Sends a signal and waits until the process has exited. */
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

/** Starts a command and waits until it prints `until`. Rejects with its output if it exits before. */
export async function startCommand(
  args: readonly string[],
  env: Record<string, string>,
  until: string,
  command = entry,
): Promise<RunningCommand> {
  const child = spawn(process.execPath, [command, ...args], {
    env: environment(env),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  // After the last line.
  const ended = once(child, 'close')
  await new Promise<void>((resolve, reject) => {
    const read = (chunk: Buffer) => {
      output += chunk.toString()
      if (output.includes(until)) resolve()
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    child.once('exit', (code) => reject(new Error(`The command exited with ${code}:\n${output}`)))
  })
  return {
    child,
    output: () => output,
    async stop(signal = 'SIGTERM') {
      child.kill(signal)
      const [code] = (await ended) as [number | null]
      return code
    },
  }
}
