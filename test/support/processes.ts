import { Agent, get } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { expect } from 'vitest'
import type { RunningGateway } from './cli.ts'

/** The lines of a log. */
export function readLog(output: string): Record<string, unknown>[] {
  return output
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line))
}

/** The processes that have begun to serve, the oldest first. */
export function childrenOf(gateway: RunningGateway): number[] {
  return readLog(gateway.output())
    .filter(({ msg }) => String(msg).startsWith('Process listening'))
    .toSorted((one, other) => Number(one['time']) - Number(other['time']))
    .map(({ pid }) => Number(pid))
}

/** Waits for a line of the log. */
export async function untilLogged(gateway: RunningGateway, message: string, count = 1): Promise<void> {
  const lines = () => readLog(gateway.output()).filter(({ msg }) => msg === message).length
  await expect.poll(lines, { timeout: 50_000, interval: 20 }).toBeGreaterThanOrEqual(count)
}

export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Waits until none of the processes runs. */
export async function untilGone(pids: readonly number[]): Promise<void> {
  await expect.poll(() => pids.filter(isRunning), { timeout: 30_000, interval: 20 }).toEqual([])
}

/** The status of a GET; the code of the error if there is no response. */
export function statusOf(url: string, key: string, agent?: Agent): Promise<number | string> {
  return new Promise((resolve) => {
    const headers = { 'x-api-key': key }
    get(url, { agent: agent ?? false, headers }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode ?? 0))
      response.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    }).once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
  })
}

/**
 * Sends requests all the time, half of the clients on one connection each and the others on a new one for each request.
 *
 * @returns stops, and returns how often each status was received
 */
export function startClients(url: string, key: string, clients: number): () => Promise<Record<string, number>> {
  const seen: Record<string, number> = {}
  let isOver = false
  const running = Array.from({ length: clients }, async (_, index) => {
    const agent = index % 2 === 0 ? new Agent({ keepAlive: true, maxSockets: 1 }) : undefined
    while (!isOver) {
      const status = await statusOf(url, key, agent)
      seen[status] = (seen[status] ?? 0) + 1
      // Leaves the processes that start a part of the machine.
      await setTimeout(10)
    }
    agent?.destroy()
  })
  return async () => {
    isOver = true
    await Promise.all(running)
    return seen
  }
}
