import { ConnectError, createReplica, isDatabaseUnavailable, isServerLost, temporaryStates } from '@fusion-gateway/sql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'

let app: TestApp
let tenant: TestTenant

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  await letWritesFail('00000', '')
  await app.database.runAsOwner('CREATE TRIGGER fail BEFORE INSERT ON "user" FOR EACH ROW EXECUTE FUNCTION fail()')
})
afterAll(() => app.close())

/** Lets every new user fail with an SQLSTATE. */
function letWritesFail(state: string, message: string): Promise<void> {
  return app.database.runAsOwner(`
    CREATE OR REPLACE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION '${message}' USING ERRCODE = '${state}'; END $$`)
}

/** Of each class its first code, and one that is common. */
const states = [
  ...Object.keys(temporaryStates).map((start) => start.padEnd(5, '0')),
  '08006',
  '28P01',
  '53100',
  '53300',
  '57014',
  '57P01',
  '58030',
  '58P01',
]
const systemFailures = [
  'could not write init file',
  'could not open file "base/1/2": Permission denied',
  'could not fsync log file "x"',
  'could not fork process: Cannot allocate memory',
  'something: No space left on device',
  'could not commit transaction for shard 102013 on at least one active node',
  'failure on connection marked as essential: node-1.internal:5432',
]

describe('an error of the database', () => {
  it.each([...states.map((state) => [state, 'x'] as const), ...systemFailures.map((text) => ['XX000', text] as const)])(
    '%s %s is SERVICE_UNAVAILABLE with Retry-After, by GraphQL and by REST',
    async (state, message) => {
      await letWritesFail(state, message)
      const response = await app.rest(tenant, 'POST', '/users', { name: 'Ada', email: 'a@example.com', phone: '1' })
      expect(response.json()).toMatchObject({ status: 503, code: 'SERVICE_UNAVAILABLE' })
      expect(response.headers['retry-after']).toBe('5')
      const create = 'mutation { createUser(input: { name: "A", email: "a@example.com", phone: "1" }) { user { id } } }'
      const { errors } = await app.graphql(tenant, create)
      expect(errors).toMatchObject([{ extensions: { code: 'SERVICE_UNAVAILABLE' } }])
      // The SQLSTATE, and the message of the database, are in the log.
      const lines = JSON.stringify(app.log.filter(({ msg }) => msg === 'the database is unavailable'))
      expect(lines).toContain(`"code":"${state}"`)
      expect(lines).toContain(JSON.stringify(message).slice(1, -1))
      expect(lines).not.toContain('[object Object]')
    },
  )

  it.each([
    ['22012', 'division by zero'],
    ['42703', 'column x does not exist'],
    ['42501', 'permission denied for table user'],
    ['54000', 'program limit exceeded'],
    ['P0001', 'raised'],
    ['XX000', 'cache lookup failed for type 7'],
    ['XX001', 'invalid page in block 3'],
  ])('%s %s is INTERNAL: the statement is wrong, or the data', async (state, message) => {
    await letWritesFail(state, message)
    const response = await app.rest(tenant, 'POST', '/users', { name: 'Ada', email: 'a@example.com', phone: '1' })
    expect(response.json()).toMatchObject({ status: 500, code: 'INTERNAL' })
    const line = app.log.findLast(({ msg }) => msg === 'unexpected error')
    expect(JSON.stringify(line)).toContain(message)
    expect(JSON.stringify(line)).toContain(`"code":"${state}"`)
  })
})

describe('a failure to connect', () => {
  const failure = (code: string) =>
    new ConnectError('no connection', { cause: Object.assign(new Error('x'), { code }) })

  it.each([
    ['ECONNREFUSED', true],
    ['28P01', true],
    ['3D000', true],
    ['53300', false],
    ['EMFILE', false],
  ])('by %s is an outage; that the server is lost: %s', (code, isLost) => {
    expect(isDatabaseUnavailable(failure(code))).toBe(true)
    expect(isServerLost(failure(code))).toBe(isLost)
  })

  it('to a replica that was never used is reported once, and not that it still has to be measured', () => {
    const reports: unknown[] = []
    const send = () => Promise.reject(new Error('not sent'))
    const replica = createReplica('replica', send, (_name, _isUsable, reason) => reports.push(reason))
    const unreachable = failure('28P01')
    for (const reason of [new Error('not measured yet'), unreachable, unreachable]) replica.exclude(reason)
    expect(reports).toEqual([undefined, unreachable])
  })
})
