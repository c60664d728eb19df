import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { freePort } from '../../test/support/cluster.ts'
import type { Image } from './image.ts'

/** How many clients read at the same time. */
const clients = 50

/** What a gateway took. */
export interface Measured {
  readonly readyMilliseconds: number
  readonly peakMib: number
}

/**
 * Starts a gateway, reads 1,000 pages of users by 50 clients, and stops it.
 *
 * @param readKey finds an API key in the output of the gateway
 */
export async function measure(
  image: Image,
  env: Readonly<Record<string, string>>,
  readKey: (output: string) => string,
): Promise<Measured> {
  const address = `http://127.0.0.1:${await freePort()}`
  const started = performance.now()
  const gateway = image.start(['serve'], { ...env, PORT: new URL(address).port })
  await gateway.written(/Server listening/)
  await waitUntilReady(address)
  const readyMilliseconds = performance.now() - started
  // Their texts are files outside of src.
  for (const page of ['/guides', '/guides/recipes/relay', '/guides/performance.svg']) {
    assert.equal((await fetch(`${address}${page}`)).status, 200, page)
  }
  const headers = { 'x-api-key': readKey(gateway.output()) }
  for (let sent = 0; sent < 1_000; sent += clients) {
    const requests = Array.from({ length: clients }, () => fetch(`${address}/users?limit=100`, { headers }))
    for (const answer of await Promise.all(requests)) assert.equal(answer.status, 200, await answer.text())
  }
  const peakMib = gateway.peakMib()
  await gateway.stop()
  return { readyMilliseconds, peakMib }
}

const readyMilliseconds = 30_000

/**
 * Waits until the gateway at an address is ready.
 *
 * @throws AssertionError if that takes longer than 30 s
 */
export async function waitUntilReady(address: string): Promise<void> {
  const deadline = performance.now() + readyMilliseconds
  const isReady = () =>
    fetch(`${address}/ready`).then(
      ({ ok }) => ok,
      () => false,
    )
  while (!(await isReady())) {
    assert.ok(performance.now() < deadline, `${address}/ready does not answer 200`)
    await setTimeout(20)
  }
}
