import { expect, it, onTestFinished } from 'vitest'
import { alignEventIds, createEventLog } from '../../src/domain/event/event-log.ts'
import { startTestApp } from '../support/app.ts'
import { settleEvents } from '../support/events.ts'
import { factoriesFor } from '../support/factories.ts'
import { isDistributed } from '../support/postgresql.ts'

const far = `evt_${(10 ** 12).toString(16).padStart(12, '0')}${'0'.repeat(12)}`
const numberOf = (id: string) => Number.parseInt(id.slice(4, 16), 16)

/** A database whose rows come from a server that has counted 10^12 transactions, and have no event. */
async function startMoved(server: string) {
  const app = await startTestApp()
  onTestFinished(() => app.close())
  const tenant = await app.createTenant()
  await app.database.runAsOwner(`UPDATE event_state SET server = ${server}`)
  let restarts = 0
  const warnings: unknown[] = []
  const log = { warn: (details: unknown) => void warnings.push(details), error: () => undefined }
  /** What a process does at its start, and the id of the event that its first write has. */
  const restart = async () => {
    await alignEventIds(app.database, log)
    // A restart has new sessions. The embedded database has one, which remembers the offset.
    restarts += 1
    const resourceId = `usr_${restarts}`
    await app.database.runAsOwner(`SELECT set_config('fusion.event_offset', '', false);
      INSERT INTO "user" (tenant_app_id, id, name, email, updated_at) VALUES ('${tenant.tenantAppId}', '${resourceId}', 'A', 'a', now())`)
    const event = await app.database.prisma.event.findFirstOrThrow({ where: { resourceId } })
    return event.id
  }
  return { app, tenant, warnings, restart }
}

// On a distributed database `migrate distribute` does this (test/db/citus.long.embedded.test.ts).
const itOfOneServer = it.skipIf(isDistributed)

// Whether the server is another one and what is greatest are found apart, so not each is moved with each.
itOfOneServer.each([
  ['the events that were removed', 'UPDATE tenant_app SET events_removed_to = ', ['server', 'server - 1']],
  ['the cursor of a webhook', 'UPDATE webhook SET cursor = ', ['server']],
  ['an erasure under way', 'UPDATE erasure SET seen_in = ', ['server - 1']],
  ['an event', 'UPDATE event SET id = ', ['server']],
])(
  'new events have ids above %s, after a move with or without the row that names the server',
  async (_, update, servers) => {
    for (const server of servers) {
      const { app, tenant, warnings, restart } = await startMoved(server)
      const make = factoriesFor(app, tenant)
      await make.webhook({ id: 'webhook' })
      const user = await make.user()
      await app.database.prisma.user.deleteMany({ where: { tenantAppId: tenant.tenantAppId, id: user.id } })
      await app.database.prisma.event.deleteMany({ where: { tenantAppId: tenant.tenantAppId, type: 'USER_DELETED' } })
      await app.database.runAsOwner(`${update} '${far}'`)
      if (server !== 'server') await app.database.runAsOwner('UPDATE event_state SET server = server - 1')
      expect(numberOf(await restart())).toBeGreaterThan(10 ** 12)
      expect(warnings).toHaveLength(1)
      expect(await restart()).toBeTruthy()
      expect(warnings).toHaveLength(1)
    }
  },
)

itOfOneServer('a follower and a webhook get what happens after the move', async () => {
  const { app, tenant, restart } = await startMoved('server')
  await app.database.runAsOwner(`UPDATE tenant_app SET events_removed_to = '${far}'`)
  const id = await restart()
  await settleEvents(app)
  const events = await createEventLog(app.database).read({ tenantAppId: tenant.tenantAppId, after: far, limit: 10 })
  expect(events.map((event) => event.id)).toEqual([id])
})

itOfOneServer('a session without a search path writes events', async () => {
  const { app, tenant } = await startMoved('server')
  const where = `tenant_app_id = '${tenant.tenantAppId}' AND id = 'usr_bare'`
  await app.database.runAsOwner(`SET search_path = '';
    INSERT INTO public."user" (tenant_app_id, id, name, email, updated_at) VALUES ('${tenant.tenantAppId}', 'usr_bare', 'A', 'a', now());
    UPDATE public."user" SET name = 'B' WHERE ${where};
    DELETE FROM public."user" WHERE ${where};
    RESET search_path`)
  const events = await app.database.prisma.event.findMany({ where: { resourceId: 'usr_bare' }, orderBy: { id: 'asc' } })
  expect(events.map(({ type }) => type)).toEqual(['USER_CREATED', 'USER_UPDATED', 'USER_DELETED'])
})
