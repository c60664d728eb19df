import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { runProcess } from '../support/cli.ts'
import { locationOf } from '../support/settings.ts'
import { type CitusDatabase, createCitusDatabase } from './citus-database.ts'
import * as further from './further-migrations.ts'

const pool = { connectMilliseconds: 30_000, acquireMilliseconds: 30_000, statementMilliseconds: 60_000 }
const scripts = [
  further.tableOfTenants,
  further.tableOfNodes,
  further.column,
  further.enumValue,
  further.index,
  further.eachServer,
]

// What a server has, without the shards, whose numbers differ.
const describeServer = `
  WITH own AS (SELECT oid FROM pg_class AS c WHERE relnamespace = 'public'::regnamespace AND relname !~ '_[0-9]{6,}$'
    AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = c.oid AND deptype = 'e'))
  SELECT format('column %s.%s %s %s %s', attrelid::regclass, attname, format_type(atttypid, atttypmod), attnotnull,
      pg_get_expr(adbin, adrelid)) AS line
    FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
    WHERE attrelid IN (SELECT oid FROM own) AND attnum > 0 AND NOT attisdropped
  UNION ALL SELECT format('constraint %s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid))
    FROM pg_constraint WHERE conrelid IN (SELECT oid FROM own)
  UNION ALL SELECT 'index ' || pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid IN (SELECT oid FROM own)
  UNION ALL SELECT format('trigger %s %s', tgenabled, pg_get_triggerdef(oid))
    FROM pg_trigger WHERE NOT tgisinternal AND tgrelid IN (SELECT oid FROM own)
  UNION ALL SELECT 'function ' || pg_get_functiondef(p.oid) FROM pg_proc AS p WHERE pronamespace = 'public'::regnamespace
    AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass AND objid = p.oid AND deptype = 'e')
  UNION ALL SELECT format('value %s %s', enumtypid::regtype, enumlabel) FROM pg_enum
    WHERE enumtypid IN (SELECT oid FROM pg_type WHERE typnamespace = 'public'::regnamespace)
  UNION ALL SELECT format('placed %s %s', logicalrelid, partmethod) FROM pg_dist_partition
    WHERE (partmethod, repmodel) <> ('n', 's')
  ORDER BY 1`

describe.skipIf(!process.env['TEST_CITUS_URL'])('a database that is migrated', () => {
  let citus: CitusDatabase | undefined
  afterEach(() => citus?.remove())

  /** What each server has after the first of the further migrations, `migrate distribute`, and the others. */
  async function describeAfter(first: number): Promise<string[][]> {
    citus = await createCitusDatabase('schema')
    const { add, command, deployMigrations, openDatabase, remove } = await further.createNextVersion()
    onTestFinished(remove)
    const database = await openDatabase(locationOf(citus.ownerUrl, pool))
    try {
      for (const script of scripts.slice(0, first)) add(script)
      await deployMigrations(database)
    } finally {
      await database.close()
    }
    const nodes = citus.nodes.flatMap((node) => ['--node', node])
    const distribute = ['migrate', 'distribute', '--shards', '4', ...nodes]
    const { code, stderr } = await runProcess(distribute, { DATABASE_URL: citus.adminUrl() }, command)
    expect({ code, stderr }).toMatchObject({ code: 0 })
    const later = await openDatabase(locationOf(citus.ownerUrl, pool))
    try {
      for (const script of scripts.slice(first)) add(script)
      expect(await deployMigrations(later)).toHaveLength(scripts.length - first)
    } finally {
      await later.close()
    }
    const servers = [undefined, ...citus.nodes]
    const found = await Promise.all(servers.map((node) => citus?.rows(describeServer, node)))
    await citus.remove()
    citus = undefined
    return found.map((rows = []) => rows.map(({ line }) => String(line)))
  }

  it('is the same whether it is distributed before its migrations, between them or after them', async () => {
    const expected = await describeAfter(scripts.length)
    expect(expected[0]?.some((line) => line.startsWith('constraint badge badge_user_fkey'))).toBe(true)
    for (const first of [0, 3]) expect(await describeAfter(first)).toEqual(expected)
  }, 180_000)
})
