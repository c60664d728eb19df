import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { fusion, startCommand } from '../support/cli.ts'
import { type ListeningGateway, listen, prepare } from '../support/gateway.ts'
import { type CitusServers, canCreateCitus, createCitusServers } from './citus-servers.ts'

// The servers are those of the test, because it breaks what the command checks, and settings of the server say whether
// statements are recorded.
describe.skipIf(!process.env['TEST_CITUS_URL'] || !canCreateCitus)('verify distribution', () => {
  let servers: CitusServers
  let gateway: ListeningGateway
  let admin: pg.Client
  let onNode: pg.Client
  let key = ''

  beforeAll(async () => {
    const recorded = { shared_preload_libraries: "'citus, pg_stat_statements'", 'citus.stat_statements_track': 'all' }
    servers = await createCitusServers(2, (number) => (number === 0 ? recorded : {}))
    const { coordinator, nodes } = servers
    admin = new pg.Client({ connectionString: coordinator.adminUrl })
    onNode = new pg.Client({ connectionString: nodes[0]?.adminUrl })
    await admin.connect()
    await onNode.connect()
    key = (await prepare(coordinator)).key
  }, 120_000)
  afterAll(async () => {
    await gateway?.close()
    await admin?.end()
    await onNode?.end()
    await servers?.remove()
  })

  /** The states of the parts, and what was found of those that are not right. */
  async function verify() {
    const env = { DATABASE_URL: servers.coordinator.url }
    const { code, stdout, stderr } = await fusion(['verify', 'distribution', '--json'], env)
    const lines = stdout.split('\n').filter(Boolean)
    const findings = lines.map((line) => JSON.parse(line) as { part: string; state: string; text: string })
    const states = Object.fromEntries(findings.map(({ part, state }) => [part, state]))
    return { code, stderr, states, text: findings.filter(({ state }) => state !== 'right').map(({ text }) => text) }
  }
  const right = { tables: 'right', numbers: 'right', shards: 'right', nodes: 'right', functions: 'right' }

  it('refuses a database that is not distributed', async () => {
    expect(await verify()).toMatchObject({ code: 1, stderr: expect.stringContaining('is not distributed') })
  })

  it('says that all is right, and how statements can be recorded', async () => {
    const { coordinator, nodes } = servers
    const options = nodes.flatMap(({ adminUrl }) => ['--node', new URL(adminUrl).host])
    const env = { DATABASE_URL: coordinator.adminUrl }
    expect(await fusion(['migrate', 'distribute', '--shards', '4', ...options], env)).toMatchObject({ code: 0 })
    const { code, states, text } = await verify()
    expect({ code, states }).toEqual({ code: 0, states: { ...right, statements: 'unknown' } })
    expect(text).toEqual([expect.stringContaining('CREATE EXTENSION pg_stat_statements')])
  }, 60_000)

  it('finds the statements that several nodes have read', async () => {
    await admin.query('CREATE EXTENSION pg_stat_statements')
    gateway = await listen(servers.coordinator.url)
    const headers = { 'x-api-key': key, 'content-type': 'application/json' }
    const post = (path: string, body: object) =>
      fetch(gateway.address + path, { method: 'POST', headers, body: JSON.stringify(body) })
    expect((await post('/users', { name: 'a', email: 'a@example.com', phone: '1' })).status).toBe(201)
    const query = '{ users(limit: 5) { users { id accounts { id profiles { id } } } } }'
    expect((await post('/graphql', { query })).status).toBe(200)
    const worker = await startCommand(
      ['work', '--handlers', 'test/fixtures/handlers.ts'],
      { DATABASE_URL: servers.coordinator.url },
      'working',
    )
    onTestFinished(() => void worker.stop('SIGKILL'))
    await worker.stop()
    expect(await verify()).toMatchObject({ code: 0, states: { ...right, statements: 'right' } })

    await gateway.database.prisma.$queryRawUnsafe('SELECT name FROM "user" WHERE phone = \'1\'')
    const { code, states, text } = await verify()
    expect({ code, states }).toEqual({ code: 1, states: { ...right, statements: 'wrong' } })
    expect(text).toEqual(['Sent to several nodes: 1 times SELECT name FROM "user" WHERE phone = $1'])
    await admin.query('SELECT citus_stat_statements_reset()')
  }, 60_000)

  /** Breaks something, verifies, and puts it back. */
  async function broken(client: pg.Client, statement: string | string[], back: string | string[]) {
    for (const sql of [statement].flat()) await client.query(sql)
    const found = await verify()
    for (const sql of [back].flat()) await client.query(sql)
    return found
  }

  it('names a table that is not distributed', async () => {
    const key = 'field_usage_tenant_app_id_fkey'
    const found = await broken(
      admin,
      [`ALTER TABLE field_usage DROP CONSTRAINT ${key}`, "SELECT undistribute_table('field_usage')"],
      [
        "SELECT create_distributed_table('field_usage', 'tenant_app_id', colocate_with => 'event')",
        `ALTER TABLE field_usage ADD CONSTRAINT ${key} FOREIGN KEY (tenant_app_id) REFERENCES tenant_app ON DELETE CASCADE`,
      ],
    )
    expect(found).toMatchObject({ code: 1, states: { ...right, tables: 'wrong' } })
    expect(found.text).toEqual([expect.stringContaining('Not distributed: field_usage.')])
  })

  it('names a node that numbers events as another server', async () => {
    const change = (by: string) => `UPDATE event_state SET server = server ${by}`
    const found = await broken(onNode, change('- 1'), change('+ 1'))
    expect(found).toMatchObject({ code: 1, states: { ...right, numbers: 'wrong' } })
    const [node] = servers.nodes.map(({ adminUrl }) => new URL(adminUrl).host)
    expect(found.text).toEqual([expect.stringContaining(`another server: ${node}.`)])
  })

  it('says that shards are not where they were noted', async () => {
    const { rows } = await admin.query(`SELECT obj_description('event_state'::regclass, 'pg_class') AS noted`)
    const note = (text: string) => `COMMENT ON TABLE event_state IS '${text}'`
    const found = await broken(admin, note('placement elsewhere'), note(rows[0].noted))
    expect(found).toMatchObject({ code: 1, states: { ...right, shards: 'wrong' } })
  })

  it('names the functions and sequences that a node lacks or has otherwise', async () => {
    await onNode.query('SET citus.enable_ddl_propagation = off')
    const missing = await broken(onNode, 'DROP SEQUENCE event_announced', 'CREATE SEQUENCE event_announced')
    expect(missing).toMatchObject({ code: 1, states: { ...right, nodes: 'wrong' } })
    expect(missing.text).toEqual([expect.stringContaining('otherwise: the sequence event_announced.')])
    const { rows } = await onNode.query(`SELECT pg_get_functiondef('node_random'::regproc) AS text`)
    const replaced = rows[0].text.replace('random();', '0.5;')
    const other = await broken(onNode, replaced, rows[0].text)
    expect(other.text).toEqual([expect.stringContaining('otherwise: node_random(text).')])
  })

  it('names a function of the event log that is one of one server', async () => {
    const { rows } = await admin.query(`SELECT pg_get_functiondef('write_events'::regproc) AS text`)
    const replaced = rows[0].text.replace('BEGIN', 'BEGIN RETURN NULL;')
    const found = await broken(admin, replaced, rows[0].text)
    expect(found).toMatchObject({ code: 1, states: { ...right, functions: 'wrong' } })
    expect(found.text).toEqual([expect.stringContaining('Not of this version: write_events.')])
    expect(await verify()).toMatchObject({ code: 0, states: right })
  })
})
