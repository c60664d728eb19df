import { expect } from 'vitest'
import { connectDirectly } from '../memory/direct-sql.ts'
import { createTenants, tokensOf } from '../memory/people.ts'
import { type Counts, runChecker } from '../memory/run-checker.ts'
import type { TestApp } from '../support/app.ts'
import { fusion } from '../support/cli.ts'
import { adminUrl } from '../support/postgresql.ts'
import { nodeOf, otherNodeOf } from './nodes.ts'

/** Moves a tenant to another node. */
export async function moveTenant(app: TestApp, tenantAppId: string): Promise<void> {
  const to = await otherNodeOf(app, tenantAppId)
  const { name } = await app.database.prisma.tenantApp.findUniqueOrThrow({ where: { id: tenantAppId } })
  const database = new URL(String(app.database.url)).pathname.slice(1)
  const moved = await fusion(['migrate', 'move', '--tenant', name, '--to', to], { DATABASE_URL: adminUrl(database) })
  expect(moved).toMatchObject({ code: 0, stderr: '' })
  expect(await nodeOf(app, tenantAppId)).toBe(to)
}

/** Requires that reads show what was acknowledged before them, while their tenant moves to another node and back. */
export async function checkWhileMoving(app: TestApp): Promise<Counts> {
  const address = await app.app.listen({ host: '127.0.0.1', port: 0 })
  const sql = connectDirectly(String(app.database.url))
  const tenants = await createTenants(app.database, sql, { tenants: 1, people: 6 }, tokensOf(address))
  const tenantAppId = String(tenants[0]?.tenantAppId)
  let isMoving = true
  const moveTwice = async () => {
    for (let times = 0; times < 2; times += 1) await moveTenant(app, tenantAppId)
  }
  const moving = moveTwice().finally(() => {
    isMoving = false
  })
  let after: number | undefined
  const checking = runChecker({
    places: [{ address, sees: 'the database' }],
    sql,
    database: app.database,
    tenants,
    readers: 4,
    writers: 2,
    seed: 1,
    readsPerWrite: 30,
    isOver({ reads }) {
      if (!isMoving) after ??= reads
      return after !== undefined && reads > after + 1_000
    },
    mayFail: () => isMoving,
  })
  await moving
  const { problems, ...counts } = await checking
  await sql.close()
  if (problems.length > 0) expect.fail(problems.join('\n'))
  expect(counts).toMatchObject({ stale: 0, wrong: 0 })
  return counts
}
