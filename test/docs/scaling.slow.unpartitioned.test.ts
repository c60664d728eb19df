import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../support/app.ts'
import { readBlocks } from '../support/docs.ts'
import { hasServer } from '../support/postgresql.ts'

describe.skipIf(!hasServer)('the DDL for Citus in docs/scaling.md', () => {
  let app: TestApp
  beforeAll(async () => {
    app = await startTestApp()
  })
  afterAll(() => app.close())

  // Citus itself is not available. Functions with the names of its functions show which tables are distributed.
  it('distributes every table with rows of tenants, and keeps every foreign key', async () => {
    const tenant = await app.createTenant()
    await app.database.runAsOwner(`
      CREATE TABLE distributed (name regclass, by text);
      CREATE FUNCTION create_reference_table(name regclass) RETURNS void LANGUAGE sql AS 'INSERT INTO distributed VALUES (name)';
      CREATE FUNCTION create_distributed_table(name regclass, by text, colocate_with text DEFAULT '"user"') RETURNS void LANGUAGE sql AS
        'INSERT INTO distributed VALUES (name, by || ''/'' || colocate_with::regclass)'`)
    const [block] = readBlocks('docs/scaling.md').filter(({ code }) => code.includes('create_distributed_table'))
    const keys = () => app.database.prisma.$queryRaw<{ key: string; updates: string }[]>`
      SELECT conrelid::regclass || ' ' || conname AS key, confupdtype::text AS updates FROM pg_constraint
      WHERE contype = 'f' AND conparentid = 0 ORDER BY 1`
    const before = await keys()
    await app.database.runAsOwner(block?.code ?? '')
    expect(await keys()).toEqual(before.map(({ key }) => ({ key, updates: 'a' })))
    const distributed = await app.database.prisma.$queryRaw<{ name: string; by: string | null }[]>`
      SELECT name::text, by FROM distributed ORDER BY by NULLS FIRST, 1`
    const tables = await app.database.prisma.$queryRaw<{ name: string }[]>`
      SELECT oid::regclass::text AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
      AND NOT relispartition AND relname NOT IN ('distributed', '_prisma_migrations') ORDER BY 1`
    expect(distributed.map(({ name }) => name).sort()).toEqual(tables.map(({ name }) => name).sort())
    expect(distributed.filter(({ by }) => by === null).map(({ name }) => name)).toEqual([
      'api_key',
      'event_state',
      'signing_key',
      'tenant_app',
    ])
    const create = 'mutation { createUser(input: { name: "A", email: "a@example.com", phone: "1" }) { user { name } } }'
    expect(await app.graphql(tenant, create)).toMatchObject({ data: { createUser: { user: { name: 'A' } } } })
  })
})
