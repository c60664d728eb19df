import { writeFileSync } from 'node:fs'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fusion } from '../support/cli.ts'
import { type ListeningGateway, listen, prepare } from '../support/gateway.ts'
import { type CitusServers, canCreateCitus, createCitusServers } from './citus-servers.ts'

describe.skipIf(!process.env['TEST_CITUS_URL'] || !canCreateCitus)('verify distribution', () => {
  let servers: CitusServers
  let gateway: ListeningGateway
  let key = ''
  const env = { DATABASE_URL: '' }

  beforeAll(async () => {
    servers = await createCitusServers(2, (number) =>
      number > 0 ? {} : { shared_preload_libraries: "'citus, pg_stat_statements'", 'citus.stat_statements_track': 'all' },
    )
    const { coordinator, nodes } = servers
    key = (await prepare(coordinator)).key
    env.DATABASE_URL = coordinator.adminUrl
    const options = nodes.flatMap(({ adminUrl }) => ['--node', new URL(adminUrl).host])
    expect(await fusion(['migrate', 'distribute', '--shards', '4', ...options], env)).toMatchObject({ code: 0 })
    gateway = await listen(coordinator.url)
  }, 120_000)
  afterAll(async () => {
    await gateway?.close()
    await servers?.remove()
  })

  const verify = (url = servers.coordinator.url) => fusion(['verify', 'distribution'], { DATABASE_URL: url })

  it('x', async () => {
    console.log(await verify())
    const client = new pg.Client({ connectionString: servers.coordinator.adminUrl })
    await client.connect()
    await client.query('CREATE EXTENSION pg_stat_statements; SELECT citus_stat_statements_reset()')
    console.log(await verify())
    const headers = { 'x-api-key': key, 'content-type': 'application/json' }
    for (let i = 0; i < 3; i += 1) {
    const body = JSON.stringify({ name: 'a', email: 'a@example.com', phone: '1' })
    console.log((await fetch(`${gateway.address}/users`, { method: 'POST', headers, body })).status)
    console.log((await fetch(`${gateway.address}/users?limit=10`, { headers })).status)
    console.log((await fetch(`${gateway.address}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query: '{ users(first: 5) { nodes { id accounts { id profiles { id } } } } }' }) })).status)
    }
    await client.query(`SELECT count(*) FROM event; SELECT count(*) FROM tenant_app`)
    await client.query(`SELECT count(*) FROM tenant_app`)
    await fusion(['work', '--concurrency', '1'], { DATABASE_URL: servers.coordinator.url, METRICS_PORT: 'x' })
    const work = await import('../support/cli.ts').then(({ startCommand }) => startCommand(['work'], { DATABASE_URL: servers.coordinator.url }, 'started'))
    await new Promise((r) => setTimeout(r, 6000))
    await work.stop()
    const { rows } = await client.query('SELECT executor, partition_key, calls, userid::regrole::text, query FROM citus_stat_statements ORDER BY 1,2')
    writeFileSync('/tmp/css.json', JSON.stringify(rows, null, 1))
    console.log(await verify())
    await client.end()
  }, 120_000)
})
