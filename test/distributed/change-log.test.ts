import type { ChangeLog, LogPosition } from '@fusion-gateway/gateway-kit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { changeLogOf } from '../../src/domain/event/change-log.ts'
import { connectDirectly } from '../memory/direct-sql.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { isDistributed, nodes, runAsAdminOn } from '../support/postgresql.ts'
import { checkWhileMoving } from './check-while-moving.ts'
import { createTenantOn } from './nodes.ts'

let app: TestApp
let name: string
let tenant: TestTenant
let neighbour: TestTenant
let log: ChangeLog

beforeEach(async () => {
  if (!isDistributed) return
  app = await startTestApp({ keyCacheMilliseconds: 60_000, responseCacheBytes: 64 * 1024 * 1024 })
  name = new URL(String(app.database.url)).pathname.slice(1)
  const [own, other] = nodes as [string, string]
  tenant = await createTenantOn(app, own)
  neighbour = await createTenantOn(app, other)
  log = changeLogOf(app.database, app.services.events)
})
afterEach(() => app?.close())

/** @param sentFor the tenant to whose node the statements are sent */
function readChanges(after?: LogPosition, sentFor = tenant) {
  const { tenantAppId } = sentFor
  return log.readChanges(app.database.sql.for({ statements: 0, tenantAppId }), tenant.tenantAppId, after)
}

async function readPosition(): Promise<LogPosition> {
  const read = await readChanges()
  if (!read) throw new Error('No position')
  return read.position
}

const insert = (id: string) =>
  `INSERT INTO "user" (tenant_app_id, id, name, email, updated_at) VALUES ('${tenant.tenantAppId}', '${id}', 'A', 'a', now())`

describe.skipIf(!isDistributed)('the log of a distributed database', () => {
  it('is asked by three short statements while nothing changes', async () => {
    const position = await readPosition()
    let read: unknown = 'nothing'
    const statements = await app.statementsOf(async () => {
      read = await readChanges(position)
    })
    expect(read).toBeUndefined()
    expect(statements).toHaveLength(3)
    await runAsAdminOn(name, insert('usr_1'))
    expect((await readChanges(position))?.changes?.map(({ ids }) => ids[0])).toEqual(['usr_1'])
  })

  it('has what transactions wrote that ran at the position, whichever ends first', async () => {
    const sessions = connectDirectly(String(app.database.url))
    const ids = ['usr_1', 'usr_2', 'usr_3']
    const ends = ids.map(() => Promise.withResolvers<void>())
    const begin = async (id: string, end: Promise<void>) => {
      const hasWritten = Promise.withResolvers<void>()
      const committed = sessions.transact(async (query) => {
        await query(insert(id))
        hasWritten.resolve()
        await end
        return 'commit'
      })
      await hasWritten.promise
      return { id, committed }
    }
    const running: Awaited<ReturnType<typeof begin>>[] = []
    for (const [at, id] of ids.entries()) running.push(await begin(id, (ends[at] as (typeof ends)[number]).promise))
    await runAsAdminOn(name, insert('usr_4'))
    const position = await readPosition()
    expect(position.running).toHaveLength(ids.length)
    for (const prefix of position.running) expect(prefix).toMatch(/^evt_/)
    expect(await readChanges(position)).toBeUndefined()
    const read: unknown[] = []
    for (const [at, { id, committed }] of running.entries()) {
      ends[at]?.resolve()
      await committed
      read.push(id)
      expect((await readChanges(position))?.changes?.map(({ ids: [user] }) => user)).toEqual(read)
    }
    await sessions.close()
  })

  it('is another one after TRUNCATE, and unknown when the tenant is being deleted', async () => {
    const before = await readChanges()
    await runAsAdminOn(name, 'TRUNCATE "user" CASCADE')
    const truncated = await readChanges(before?.position)
    expect(truncated?.server).not.toBe(before?.server)
    await runAsAdminOn(name, `UPDATE tenant_app SET deleting_since = now() WHERE id = '${tenant.tenantAppId}'`)
    expect(await readChanges(truncated?.position)).toMatchObject({ changes: undefined })
  })

  it('is read as a whole at a node without the rows of the tenant', async () => {
    const position = await readPosition()
    for (let times = 0; times < 2; times += 1) {
      const read = await readChanges(position, neighbour)
      expect(read?.position.state).toBeUndefined()
      expect(read?.changes).toEqual([])
    }
  })

  it('shows each read what was acknowledged before it, while the tenant moves', async () => {
    const { hits } = await checkWhileMoving(app)
    expect(hits).toBeGreaterThan(200)
  }, 180_000)
})
