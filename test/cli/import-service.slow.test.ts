import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { fusion } from '../support/cli.ts'
import { type CommandDatabase, createCommandDatabase } from '../support/command-database.ts'
import { type OldRecord, startOldService } from '../support/old-service.ts'

let database: CommandDatabase
beforeAll(async () => {
  database = await createCommandDatabase()
})
afterAll(() => database.remove())

const entry = path.resolve(import.meta.dirname, '../../bin/fusion.js')

function* users(count: number, accounts: number): Generator<OldRecord> {
  for (let number = 0; number < count; number += 1) {
    yield {
      id: `u${number}`,
      created_at: new Date(number).toISOString(),
      updated_at: new Date(number).toISOString(),
      name: `User ${number}`,
      email: `user${number}@example.com`,
      phone: null,
      tenant_app_id: 'old',
      accounts: Array.from({ length: accounts }, (_, account) => ({
        id: `a${number}_${account}`,
        user_platform: `P${account}`,
        platform_account_id: String(number),
        display_name: 'd',
      })),
    }
  }
}

const countsOf = (stdout: string) =>
  Object.fromEntries(
    stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
      .map(({ resource, old, gateway }) => [resource, [old, gateway]]),
  )

it('100,000 users in one response are imported while they are read', async () => {
  await fusion(['tenants', 'create', 'Large'], database.env)
  const old = await startOldService({ users: () => users(100_000, 0) })
  const { code, stdout, stderr } = await fusion(
    ['import', '--tenant', 'Large', '--from', old.url, '--key', 'k'],
    database.env,
  )
  await old.close()
  expect([code, stderr]).toEqual([0, 'Wrote 100000 rows, refused 0 records.\n'])
  expect(countsOf(stdout)).toMatchObject({ user: [100_000, 100_000] })
})

it('an import that was killed completes when it runs again, and leaves no file', async () => {
  await fusion(['tenants', 'create', 'Killed'], database.env)
  const before = readdirSync(tmpdir())
  const child: { kill?: () => void } = {}
  let groups = 0
  const old = await startOldService({
    users: () => users(1_000, 2),
    profileOf: (id) => ({
      id: `p${id}`,
      user_platform: `P${id.split('_')[1]}`,
      platform_account_id: id.slice(1).split('_')[0],
      emails: [],
    }),
    instead(request) {
      if (request.url?.startsWith('/fusion/profiles')) groups += 1
      if (groups === 13) child.kill?.()
      return false
    },
  })
  const args = ['import', '--tenant', 'Killed', '--from', old.url, '--rate', '1000']
  const killed = spawn(process.execPath, [entry, ...args], {
    env: { ...process.env, DATABASE_URL: '', OLD_API_KEY: 'k', ...database.env },
    stdio: 'ignore',
  })
  child.kill = () => killed.kill('SIGKILL')
  const [, signal] = await once(killed, 'exit')
  expect(signal).toBe('SIGKILL')
  const added = readdirSync(tmpdir()).filter((name) => name.startsWith('fusion-import-') && !before.includes(name))
  expect(added).toEqual([])
  const { code, stdout, stderr } = await fusion(args, { ...database.env, OLD_API_KEY: 'k' })
  await old.close()
  expect(code).toBe(0)
  expect(countsOf(stdout)).toMatchObject({ user: [1_000, 1_000], account: [2_000, 2_000], profile: [2_000, 2_000] })
  // What the first run has written is not written again.
  const written = Number(/Wrote (\d+) rows/.exec(stderr)?.[1])
  expect(written).toBeLessThan(2_000)
})
