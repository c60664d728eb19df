import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { Credential } from '../../attacks/attacks.ts'

/** How long the client may take to stop. A gateway may be suspended. */
const stopMilliseconds = 10_000

/**
 * Attacks a gateway with each credential at the same time, for some seconds.
 *
 * @returns how many responses had each status
 */
export async function runAttack(
  name: string,
  address: string,
  attackers: readonly Credential[],
  seconds: number,
): Promise<Record<string, number>> {
  const client = new Worker(new URL('./hostile.ts', import.meta.url), { workerData: { name, address, attackers } })
  const ended = once(client, 'message') as Promise<[Record<string, number>]>
  await sleep(seconds * 1_000)
  client.postMessage('stop')
  const result = await Promise.race([ended, sleep(stopMilliseconds, undefined, { ref: false })])
  await client.terminate()
  return result?.[0] ?? {}
}
