import { execFileSync, spawnSync } from 'node:child_process'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningGateway, startGateway } from '../support/cli.ts'
import { type Cluster, canCreateClusters, createCluster } from '../support/cluster.ts'
import { prepare } from '../support/gateway.ts'

const name = `fgw${process.pid}`
const [ours, theirs] = ['10.231.7.1', '10.231.7.2']

/** Whether this process may create networks. An interface that is down swallows packets, which a proxy cannot do. */
const canCreateNetworks = process.getuid?.() === 0 && spawnSync('ip', ['netns', 'list']).status === 0

function ip(command: string): void {
  execFileSync('ip', command.split(' '))
}

describe.skipIf(!canCreateClusters || !canCreateNetworks)('a network that swallows all packets of a gateway', () => {
  let cluster: Cluster
  let key: string
  let near: RunningGateway
  let far: RunningGateway
  beforeAll(async () => {
    ip(`netns add ${name}`)
    ip(`link add ${name} type veth peer name ${name}-b netns ${name}`)
    ip(`addr add ${ours}/30 dev ${name}`)
    ip(`-n ${name} addr add ${theirs}/30 dev ${name}-b`)
    ip(`link set ${name} up`)
    ip(`-n ${name} link set ${name}-b up`)
    cluster = await createCluster({ listen_addresses: `127.0.0.1,${ours}` })
    key = (await prepare(cluster)).key
    const url = new URL(cluster.url)
    url.hostname = ours
    url.searchParams.set('sslmode', 'verify-ca')
    near = await startGateway({ DATABASE_URL: cluster.url })
    far = await startGateway({ DATABASE_URL: url.href, HOST: theirs }, [], { within: ['ip', 'netns', 'exec', name] })
  })
  afterAll(async () => {
    await Promise.all([near?.stop('SIGKILL'), far?.stop('SIGKILL')])
    await cluster?.remove()
    ip(`netns del ${name}`)
  })

  function createUser({ address }: RunningGateway, signal?: AbortSignal): Promise<Response> {
    return fetch(`${address}/users`, {
      method: 'POST',
      signal: signal ?? null,
      headers: { 'x-api-key': key, 'content-type': 'application/json', 'idempotency-key': 'black-hole' },
      body: JSON.stringify({ name: 'Ada', email: 'ada@example.com', phone: '1' }),
    })
  }

  it('holds an idempotency key no longer than a gateway waits for a response', async () => {
    const session = new pg.Client({ connectionString: cluster.adminUrl })
    await session.connect()
    await session.query('BEGIN; LOCK TABLE "user"')
    const client = new AbortController()
    const lost = createUser(far, client.signal).catch(() => undefined)
    const waits = 'SELECT 1 FROM pg_locks WHERE NOT granted'
    while ((await session.query(waits)).rows.length === 0);
    ip(`link set ${name} down`)
    const swallowed = performance.now()
    await session.query('ROLLBACK')
    await session.end()

    const responses: number[] = []
    for (let response = await createUser(near); responses.at(-1) !== 201; response = await createUser(near)) {
      responses.push(response.status)
      await response.text()
    }
    // 4 s is the time of a statement, after which the far gateway gives up. Without a limit the server waits for 30 s.
    expect(performance.now() - swallowed).toBeLessThan(8_000)
    expect(new Set(responses)).toEqual(new Set([409, 201]))
    client.abort()
    await lost
  })
})
