import { afterAll, beforeAll, expect, it } from 'vitest'
import { fusionOn } from '../support/command-database.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase()
  await fusionOn(database, ['tenants', 'create', 'Acme'])
  await fusionOn(database, ['seed', '--tenant', 'Acme', '--users', '1'])
})
afterAll(() => database.close())

it('verify erasure looks for a user, and exits with 1 if a row names the user', async () => {
  const exported = await fusionOn(database, ['export', '--tenant', 'Acme'])
  const [first = ''] = exported.stdout.split('\n')
  const { id } = JSON.parse(first)
  // Reading every column takes longer than a request may: the timeout does not hold for this command.
  const env = { DATABASE_STATEMENT_TIMEOUT: '0.001' }
  const verify = (...options: string[]) => fusionOn(database, ['verify', 'erasure', ...options], { env })
  const found = await verify('--user', id, '--tenant', 'Acme')
  expect(found).toMatchObject({ code: 1, stderr: expect.stringContaining(`Some rows name ${id}`) })
  expect(found.stdout).toMatch(/^user\s+id\s+1\s+found$/m)
  expect(found.stdout).toMatch(/^event\s+user_id\s+\d+\s+kept$/m)
  const json = await verify('--user', id, '--json')
  expect(json).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('{"table":"user","column":"id","rows":1,"isKept":false}\n'),
  })
  expect(await verify('--user', 'usr_unknown')).toMatchObject({ code: 0, stdout: '' })
  expect(await verify('--user', 'usr_unknown', '--text', 'nobody', '--text', 'Acme')).toMatchObject({ code: 1 })
  expect(await verify()).toMatchObject({ code: 2, stderr: expect.stringContaining('--user') })
})

it('verify erasure does not take the id of an account, a profile, an email or a job for the same id of a user', async () => {
  const tenant = await database.prisma.tenantApp.findFirstOrThrow({ where: { name: 'Acme' } })
  const of = { tenantAppId: tenant.id, id: '77', updatedAt: new Date() }
  const account = { platform: 'X', platformAccountId: '1' }
  await database.prisma.user.createMany({
    data: ['77', 'usr_other'].map((id) => ({ ...of, id, name: 'Ada', email: 'a@example.com' })),
  })
  await database.prisma.account.create({ data: { ...of, ...account, userId: 'usr_other', displayName: '@ada' } })
  await database.prisma.profile.create({ data: { ...of, ...account, accountId: '77' } })
  await database.prisma.emailRecord.create({ data: { ...of, profileId: '77', value: 'b@example.com' } })
  await database.prisma.job.create({ data: of })
  const verify = (...options: string[]) => fusionOn(database, ['verify', 'erasure', '--user', '77', ...options])
  expect((await verify()).stdout).toMatch(/^user\s+id\s+1\s+found$/m)
  await database.prisma.user.delete({ where: { tenantAppId_id: { tenantAppId: tenant.id, id: '77' } } })
  await database.prisma.erasure.deleteMany()
  const { code, stdout } = await verify()
  expect(stdout).not.toContain('found')
  expect(code).toBe(0)
  // What the operator names is looked for everywhere.
  expect((await verify('--text', '77')).stdout).toMatch(/^account\s+id\s+1\s+found$/m)
})
