import { isWellFormedApiKey } from '@fusion-gateway/auth'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fusion } from '../support/cli.ts'
import { type CommandDatabase, createCommandDatabase } from '../support/command-database.ts'
import { run } from '../support/postgresql.ts'

let database: CommandDatabase
let env: CommandDatabase['env']
beforeAll(async () => {
  database = await createCommandDatabase()
  env = database.env
})
afterAll(() => database.remove())

describe('fusion', () => {
  it('tenants create prints only the id, and rejects a name that is invalid or exists', async () => {
    const created = await fusion(['tenants', 'create', 'Acme'], env)
    expect(created.stdout).toMatch(/^ten_[\w-]+\n$/)
    expect(await fusion(['tenants', 'create', 'Two\nlines'], env)).toMatchObject({ code: 1, stdout: '' })
    const again = await fusion(['tenants', 'create', 'Acme'], env)
    expect(again).toMatchObject({ code: 1, stdout: '', stderr: 'A tenant with the name Acme already exists.\n' })
  })

  it('keys creates, lists, rotates and revokes keys, and prints only a new key on stdout', async () => {
    const key = await fusion(['keys', 'create', '--tenant', 'Acme', '--name', 'ci', '--expires', '90d'], env)
    expect(key.code).toBe(0)
    expect(isWellFormedApiKey(key.stdout.trimEnd())).toBe(true)
    const id = /key_[\w-]+/.exec(key.stderr)?.[0] ?? ''

    const listed = await fusion(['keys', 'list'], env)
    expect(listed.stdout).toContain(`${id}\tAcme\tci\tactive`)
    expect(listed.stdout).not.toContain(key.stdout.trim())

    const short = await fusion(['keys', 'create', '--tenant', 'Acme', '--name', 'short', '--expires', '15m'], env)
    const minutes = /\tshort\tactive\t\S+\t(\S+)/.exec((await fusion(['keys', 'list'], env)).stdout)?.[1] ?? ''
    expect(short.code).toBe(0)
    expect((Date.parse(minutes) - Date.now()) / 60_000).toBeGreaterThan(10)
    expect((Date.parse(minutes) - Date.now()) / 60_000).toBeLessThan(15)

    const rotated = await fusion(['keys', 'rotate', id, '--grace', '30m'], env)
    expect(rotated).toMatchObject({ code: 0, stdout: expect.stringMatching(/^fus_\w{49}\n$/) })
    expect(await fusion(['keys', 'rotate', id, '--grace', 'soon'], env)).toMatchObject({ code: 2, stdout: '' })
    expect(await fusion(['keys', 'revoke', id], env)).toMatchObject({ code: 0, stdout: `Revoked ${id}\n` })
    expect((await fusion(['keys', 'list'], env)).stdout).toContain('\trevoked\t')
  })

  it('keys list shows the creators and the rate limits of keys, and keys revoke names all keys that it revokes', async () => {
    const create = (...options: string[]) => fusion(['keys', 'create', '--tenant', 'Acme', ...options], env)
    const { stderr } = await create('--name', 'slow', '--rate-limit', '600')
    const id = /key_[\w-]+/.exec(stderr)?.[0] ?? ''
    await run(
      env['DATABASE_URL'] ?? '',
      `INSERT INTO api_key (tenant_app_id, id, hash, name, creator_id)
       SELECT tenant_app_id, 'key_created', 'x', 'created', id FROM api_key WHERE id = '${id}'`,
    )
    const { stdout } = await fusion(['keys', 'list'], env)
    const rows = stdout.split('\n').map((line) => line.split('\t'))
    expect(rows.find(([first]) => first === id)?.slice(-2)).toEqual(['-', '600'])
    expect(rows.find(([first]) => first === 'key_created')?.slice(-2)).toEqual([id, '-'])
    expect(await create('--rate-limit', '0')).toMatchObject({ code: 2, stdout: '' })
    const revoked = await fusion(['keys', 'revoke', id], env)
    expect(revoked).toMatchObject({ code: 0, stdout: `Revoked ${id}\nRevoked key_created\n` })
    expect(await fusion(['keys', 'revoke', id], env)).toMatchObject({ code: 0, stdout: `Revoked ${id}\n` })
  })

  it('signing-keys rotate prints only the id of the new key of access tokens on stdout', async () => {
    const first = await fusion(['signing-keys', 'rotate'], env)
    const second = await fusion(['signing-keys', 'rotate'], env)
    expect(second).toMatchObject({ code: 0, stdout: expect.stringMatching(/^[\w-]{43}\n$/), stderr: '' })
    expect(second.stdout).not.toBe(first.stdout)
  })

  it('keys rejects missing ids, missing tenants and invalid options', async () => {
    expect(await fusion(['keys', 'revoke', 'key_none'], env)).toMatchObject({ code: 1, stdout: '' })
    expect(await fusion(['keys', 'create', '--tenant', 'None'], env)).toMatchObject({ code: 1, stdout: '' })
    for (const wrong of [
      ['--scopes', ''],
      ['--expires', '2020-01-01'],
      ['--name', 'a\tb'],
    ]) {
      expect(await fusion(['keys', 'create', '--tenant', 'Acme', ...wrong], env)).toMatchObject({ code: 1, stdout: '' })
    }
    const badScope = await fusion(['keys', 'create', '--tenant', 'Acme', '--scopes', 'users:read,all'], env)
    expect(badScope).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('all') })
  })

  it('seed fills a tenant and prints its speed', async () => {
    const { code, stdout, stderr } = await fusion(['seed', '--tenant', 'Acme', '--users', '30'], env)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^Wrote 390 rows for 30 users in [\d.]+ s \(\d+ users\/s\)\.\n$/)
  })
})
