import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
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
import { connectStranger, expectNoAccess, expectNothingOfFunctions, listTables, type Stranger } from './stranger.ts'

// A role of the same server, to which nothing was granted: what it can do in the database of a gateway.

const name = `fusion-stranger-${process.pid}`
const password = 'of a stranger'

let app: TestApp
let tenant: TestTenant
let database: string
let stranger: Stranger

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
    stranger = await connectStranger(urlOfStranger())
  })
  afterAll(async () => {
    if (!app) return
    await stranger.client.end().catch(() => undefined)
    await app.close()
    await runAsAdmin(`DROP ROLE "${name}"`)
  })

  it('reads, writes and empties no table', async () => {
    const tables = await listTables(stranger)
    expect(tables).toEqual(expect.arrayContaining(['"user"', 'api_key', 'event', 'event_state', '_prisma_migrations']))
    await expectNoAccess(stranger, tables)
  })

  it('sees nothing by the functions', () => expectNothingOfFunctions(stranger))

  it('cannot keep followers from what is written, by false announcements or by hindering others', async () => {
    const stream = await subscribe(await addressOf(app), tenant.key, 'subscription { events { resourceId } }')
    for (let count = 0; count < 100; count += 1) await stranger.client.query(`NOTIFY event_written, 'not one of ours'`)
    // The log counts as announced in each millisecond, so the transaction that writes announces nothing.
    const hindering = stranger.client.query(`DO $$ BEGIN
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
    expect(await stranger.outcome('CREATE TABLE of_stranger ()')).toBe('permission denied for schema public')
  })
})
