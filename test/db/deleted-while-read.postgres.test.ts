import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createKey } from '../../src/domain/credential/key.service.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { createOneOfEach } from '../support/factories.ts'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp()
})
afterAll(() => app.close())

it('a viewer without a scope, whose relations are read one after the other, is told to ask again', async () => {
  const tenant = await app.createTenant()
  const { user } = await createOneOfEach(app, tenant)
  const { tenantAppId } = tenant
  const { key } = await createKey(app.database, { tenantAppId, name: 'k', scopes: ['users:read'] })

  // The account has been read, and its user waits for the lock.
  const session = new pg.Client({ connectionString: app.database.url })
  await session.connect()
  await session.query('BEGIN; LOCK TABLE "user" IN ACCESS EXCLUSIVE MODE')
  const response = app.rest({ ...tenant, key }, 'POST', '/graphql', {
    query: '{ accounts(first: 5) { nodes { user { name } profile { username } } } }',
  })
  const waiting = `SELECT FROM pg_locks WHERE NOT granted AND relation = '"user"'::regclass`
  await expect.poll(async () => (await session.query(waiting)).rowCount).toBe(1)
  await session.query('DELETE FROM "user" WHERE tenant_app_id = $1 AND id = $2', [tenantAppId, user.id])
  await session.query('COMMIT')
  await session.end()

  const { headers, statusCode, body } = await response
  expect(statusCode).toBe(200)
  expect(headers['retry-after']).toBe('5')
  expect(JSON.parse(body).errors).toEqual(
    expect.arrayContaining([
      expect.objectContaining({
        message: 'A row of the response was deleted while the response was read. Send the request again.',
        path: ['accounts', 'nodes', 0, 'user'],
        extensions: { code: 'SERVICE_UNAVAILABLE' },
      }),
    ]),
  )
})
