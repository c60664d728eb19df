import { setTimeout as sleep } from 'node:timers/promises'

/** The longest time that a gateway may take to answer again. The machine is busy with the other processes. */
const maxMilliseconds = 30_000

const probeMilliseconds = 2_000
const pauseMilliseconds = 50

export interface RecoveryOptions {
  readonly gateways: readonly string[]
  /** A key whose tenant has the user `usr_1`. */
  readonly key: string
  readonly note: (problem: string) => void
}

/**
 * Waits until a gateway is ready and reads a user.
 *
 * @param isAlone tells whether no other fault affects the gateway
 * @returns how long that took in milliseconds; undefined if there was another fault
 */
export async function untilRecovered(
  { gateways, key, note }: RecoveryOptions,
  gateway: number,
  isAlone: () => boolean = () => true,
): Promise<number | undefined> {
  const address = gateways[gateway]
  const startedAt = performance.now()
  while (isAlone()) {
    const isRecovered = (await answers(`${address}/ready`)) && (await answers(`${address}/users/usr_1`, key))
    const milliseconds = performance.now() - startedAt
    if (isRecovered) return isAlone() ? milliseconds : undefined
    if (milliseconds > maxMilliseconds) {
      note(`gateway ${gateway + 1} did not answer ${Math.round(milliseconds)} ms after the last fault`)
      return milliseconds
    }
    await sleep(pauseMilliseconds)
  }
  return undefined
}

async function answers(url: string, key?: string): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(probeMilliseconds)
    const response = await fetch(url, { signal, ...(key !== undefined && { headers: { 'x-api-key': key } }) })
    await response.text()
    return response.status === 200
  } catch {
    return false
  }
}
