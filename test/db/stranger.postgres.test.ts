import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { fusion } from '../support/cli.ts'
import { readBlocks } from '../support/docs.ts'
import { addressOf, subscribe } from '../support/events.ts'
import { createOneOfEach, factoriesFor } from '../support/factories.ts'
import {
  adminUrl,
  appRole,
  databaseUrl,
  hasServer,
  isDistributed,
  ownerUrl,
  run,
  runAsAdmin,
} from '../support/postgresql.ts'

// A role of the same server, to which nothing was granted: what it can do in the database of a gateway.

const name = `fusion-stranger-${process.pid}`
const password = 'of a stranger'

let app: TestApp
let tenant: TestTenant
let database: string
let stranger: pg.Client

function urlOfStranger(): string {
  const url = new URL(adminUrl(database))
  url.username = name
  url.password = encodeURIComponent(password)
  return url.href
}

describe.skipIf(!hasServer || isDistributed)('a role to which nothing was granted', () => {
  beforeAll(async () => {
    app = await startTestApp()
    tenant = await app.createTenant()
    await createOneOfEach(app, tenant)
    database = new URL(app.database.url ?? '').pathname.slice(1)
    await runAsAdmin(`CREATE ROLE "${name}" LOGIN PASSWORD '${password}'`)
    stranger = new pg.Client({ connectionString: urlOfStranger() })
    await stranger.connect()
  })
  afterAll(async () => {
    if (!app) return
    await stranger.end().catch(() => undefined)
    await app.close()
    await runAsAdmin(`DROP ROLE "${name}"`)
  })

  const outcome = (sql: string) =>
    stranger.query(sql).then(
      ({ rowCount }) => `${rowCount} rows`,
      ({ message }: Error) => message,
    )
  const namesOf = async (sql: string) => (await stranger.query<{ name: string }>(sql)).rows.map((row) => row.name)

  it('reads, writes and empties no table', async () => {
    const tables = await namesOf(
      `SELECT oid::regclass::text AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'm')`,
    )
    expect(tables).toEqual(expect.arrayContaining(['"user"', 'api_key', 'event', 'event_state', '_prisma_migrations']))
    for (const table of tables) {
      const plain = table.replaceAll('"', '')
      for (const sql of [`SELECT FROM ${table}`, `DELETE FROM ${table}`, `TRUNCATE ${table}`]) {
        expect([sql, await outcome(sql)]).toEqual([sql, `permission denied for table ${plain}`])
      }
    }
  })

  it('sees nothing by the functions', async () => {
    const functions = await namesOf(`
      SELECT format('%s(%s)', proname, (SELECT string_agg('NULL', ', ') FROM unnest(proargtypes))) AS name FROM pg_proc
      WHERE pronamespace = 'public'::regnamespace AND prorettype <> 'trigger'::regtype
        AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_proc.oid AND deptype = 'e')`)
    expect(functions.length).toBeGreaterThan(10)
    for (const call of functions) {
      const seen = await stranger.query(`SELECT to_json(${call})::text AS value`).then(
        ({ rows }) => String(rows[0].value),
        ({ message }: Error) => message,
      )
      // A number, a random one, an error's text, the time, or whether it has announced.
      expect(`${call}: ${seen}`).toMatch(
        /permission denied for table (event_state|tenant_app)$|: null$|: \{"code|: [\d.e-]+$|: "[\da-f-]{36}"$|: "\d{4}-|: (true|false)$|: function \S+ does not exist$/,
      )
    }
  })

  it('cannot keep followers from what is written, by false announcements or by hindering others', async () => {
    const stream = await subscribe(await addressOf(app), tenant.key, 'subscription { events { resourceId } }')
    for (let count = 0; count < 100; count += 1) await stranger.query(`NOTIFY event_written, 'not one of ours'`)
    // The log counts as announced in each millisecond, so the transaction that writes announces nothing.
    const hindering = stranger.query(`DO $$ BEGIN
      WHILE clock_timestamp() < now() + interval '1 s' LOOP
        PERFORM setval('event_announced', (date_part('epoch', clock_timestamp()) * 1000)::bigint);
      END LOOP;
    END $$`)
    const { id } = await factoriesFor(app, tenant).user()
    const event = await stream.next()
    await hindering
    expect(event?.data).toMatchObject({ data: { events: { resourceId: id } } })
    stream.close()
  })

  it('does not get in after the statements of docs/operating.md, and the gateway and the owner do', async () => {
    const [block] = readBlocks('docs/operating.md').filter(({ code }) => code.includes('FROM PUBLIC'))
    const { stdout: grants } = await fusion(['migrate', 'deploy', '--grants', appRole()], {
      DATABASE_URL: ownerUrl(database),
    })
    await run(ownerUrl(database), grants)
    await promisify(execFile)('sh', ['-ec', block?.code ?? 'false'], {
      env: { ...process.env, DATABASE_URL: ownerUrl(database) },
    })
    await expect(run(urlOfStranger(), 'SELECT 1')).rejects.toThrow(`permission denied for database "${database}"`)
    for (const url of [databaseUrl(database), ownerUrl(database)]) await run(url, 'SELECT 1')
    expect(await outcome('CREATE TABLE of_stranger ()')).toBe('permission denied for schema public')
  })
})
