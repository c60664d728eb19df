import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'

/** A command of the gateway that has been started. */
export interface RunningCommand {
  /** What it has written to stdout and stderr so far. */
  output(): string
  /**
   * Waits until its output matches.
   *
   * @throws AssertionError with the output if it ends before
   */
  written(pattern: RegExp): Promise<RegExpExecArray>
  /** Waits until it ends. Returns its exit code, or null if a signal ended it. */
  ended(): Promise<number | null>
  /** Sends SIGTERM, as a container engine does, and waits until it ends. Returns the milliseconds. */
  stop(): Promise<number>
  /** Kills it if it runs, and waits until it has ended. */
  kill(): Promise<void>
  /** The most resident memory so far, in MiB. */
  peakMib(): number
}

export interface SpawnOptions {
  readonly cwd?: string
  readonly env?: Record<string, string>
  readonly uid?: number
  readonly gid?: number
}

/** Starts a program that is, or starts, a Node process. */
export function startCommand(program: string, args: readonly string[], options: SpawnOptions = {}): RunningCommand {
  const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  const closed = once(child, 'close').then(([code]) => code as number | null)
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (text += chunk))
  const nodeId = () => findNode(child.pid ?? 0) ?? assert.fail(`It has ended:\n${text}`)

  return {
    output: () => text,
    async written(pattern) {
      for (;;) {
        const match = pattern.exec(text)
        if (match) return match
        assert.equal(child.exitCode, null, text)
        await setTimeout(20)
      }
    },
    ended: () => closed,
    async stop() {
      const started = performance.now()
      process.kill(nodeId(), 'SIGTERM')
      assert.equal(await closed, 0, text)
      return performance.now() - started
    },
    async kill() {
      const id = findNode(child.pid ?? 0)
      if (id !== undefined) process.kill(id, 'SIGKILL')
      await closed
    },
    peakMib() {
      const status = readFileSync(`/proc/${nodeId()}/status`, 'utf8')
      return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1_024
    },
  }
}

/** Finds the first Node among a process and its descendants: buildah would not pass a signal on to it. */
function findNode(pid: number): number | undefined {
  try {
    if (path.basename(readlinkSync(`/proc/${pid}/exe`)) === 'node') return pid
    const threads = readdirSync(`/proc/${pid}/task`)
    const children = threads.flatMap((id) => readFileSync(`/proc/${pid}/task/${id}/children`, 'utf8').trim().split(' '))
    return children
      .filter((id) => id !== '')
      .map((id) => findNode(Number(id)))
      .find((id) => id !== undefined)
  } catch {
    return undefined
  }
}
