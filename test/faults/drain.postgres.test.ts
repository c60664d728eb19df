import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fusion, type RunningGateway, startGateway } from '../support/cli.ts'
import { type CommandDatabase, createCommandDatabase } from '../support/command-database.ts'
import { hasServer } from '../support/postgresql.ts'

let database: CommandDatabase | undefined
let key: string
beforeAll(async () => {
  if (!hasServer) return
  database = await createCommandDatabase()
  await fusion(['tenants', 'create', 'Acme'], database.env)
  key = (await fusion(['keys', 'create', '--tenant', 'Acme'], database.env)).stdout.trim()
})
afterAll(() => database?.remove())

/** The status of a request over a connection of its own. */
async function ask({ address }: RunningGateway, path: string): Promise<number | undefined> {
  const headers = { 'x-api-key': key, connection: 'close' }
  return (await fetch(address + path, { headers }).catch(() => undefined))?.status
}

/** Further signals this soon belong to the first one. */
const sameRequestMilliseconds = 600

describe.skipIf(!hasServer)('a gateway before which a load balancer is', () => {
  it.each([
    ['one process', []],
    ['two processes', ['--processes', '2']],
  ] as const)(
    'after SIGTERM, of %s /ready says so for DRAIN_DELAY, requests are served, and a second signal ends that',
    async (_, args) => {
      const gateway = await startGateway({ ...database?.env, DRAIN_DELAY: '600' }, args)
      expect(await ask(gateway, '/ready')).toBe(200)
      gateway.child.kill('SIGTERM')
      await expect.poll(() => ask(gateway, '/ready')).toBe(503)
      for (let count = 0; count < 4; count += 1) {
        expect(await ask(gateway, '/ready')).toBe(503)
        expect(await ask(gateway, '/users?limit=1')).toBe(200)
      }
      await sleep(sameRequestMilliseconds)
      expect(await gateway.stop('SIGTERM')).toMatchObject({ code: 0 })
      expect(await ask(gateway, '/health')).toBeUndefined()
    },
  )

  it('the gateway stops by itself after DRAIN_DELAY, and at once after Ctrl-C', async () => {
    const gateway = await startGateway({ ...database?.env, DRAIN_DELAY: '1' })
    const { code, milliseconds } = await gateway.stop('SIGTERM')
    expect(code).toBe(0)
    expect(milliseconds).toBeGreaterThan(990)
    const patient = await startGateway({ ...database?.env, DRAIN_DELAY: '600' })
    expect(await patient.stop('SIGINT')).toMatchObject({ code: 0 })
  })
})
