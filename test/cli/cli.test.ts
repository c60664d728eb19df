import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, describe, expect, it } from 'vitest'
import { isWellFormedApiKey } from '../../src/auth/api-key.ts'
import { fusion, newDataDir, startGateway } from '../support/cli.ts'

const dataDir = newDataDir()
const env = { DATA_DIR: dataDir }
afterAll(() => rmSync(dataDir, { recursive: true }))

describe('fusion', () => {
  it.each([
    [['--help'], 'serve'],
    [['migrate', '--help'], 'deploy'],
    [['migrate', 'new', '--help'], 'schema.prisma'],
    [['tenants', '--help'], 'create'],
    [['keys', 'create', '--help'], '--expires'],
    [['seed', '--help'], '--users'],
    [['schema', '--help'], '--out'],
    [['serve', '--help'], 'serve'],
  ])('%j explains itself on stdout and ends with 0', async (args, word) => {
    const { code, stdout, stderr } = await fusion(args, env)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain(word)
  })

  it.each([
    [['nonsense'], 'unknown command'],
    [['keys', 'create'], '--tenant'],
    [['seed', '--tenant', 'a', '--users', 'many'], 'whole number'],
    [['keys', 'create', '--tenant', 'a', '--expires', 'soon'], '90d'],
    [['tenants', 'create'], 'missing required argument'],
  ])('%j is called wrongly: says how on stderr and ends with 2', async (args, word) => {
    const { code, stdout, stderr } = await fusion(args, env)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(word)
  })

  it('names every variable that cannot be used, and no value', async () => {
    const wrong = {
      DATABASE_URL: 'mysql://secret@host/db',
      PORT: '99999',
      LOG_LEVEL: 'loud',
      GRAPHIQL: 'maybe',
      CORS_ORIGINS: 'nope',
    }
    const { code, stdout, stderr } = await fusion(['serve'], wrong)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(
      stderr
        .trim()
        .split('\n')
        .map((line) => line.split(' ')[0]),
    ).toEqual(['DATABASE_URL', 'PORT', 'LOG_LEVEL', 'GRAPHIQL', 'CORS_ORIGINS'])
    expect(stderr).not.toContain('secret')
  })

  it('says in one line that the database cannot be reached', async () => {
    const { code, stderr } = await fusion(['tenants', 'list'], { DATABASE_URL: 'postgresql://me@127.0.0.1:1/none' })
    expect(code).toBe(1)
    expect(stderr).toMatch(/^The database cannot be reached: .*\n$/)
  })
})

describe('tenants and keys', () => {
  it('a tenant is made once; its id is alone on stdout', async () => {
    const created = await fusion(['tenants', 'create', 'Acme'], env)
    expect(created.stdout).toMatch(/^ten_[\w-]+\n$/)
    expect(await fusion(['tenants', 'create', 'Two\nlines'], env)).toMatchObject({ code: 1, stdout: '' })
    const again = await fusion(['tenants', 'create', 'Acme'], env)
    expect(again).toMatchObject({ code: 1, stdout: '', stderr: 'A tenant with the name Acme already exists.\n' })
  })

  it('keys are made, listed, rotated and revoked; a new key is alone on stdout', async () => {
    const key = await fusion(['keys', 'create', '--tenant', 'Acme', '--name', 'ci', '--expires', '90d'], env)
    expect(key.code).toBe(0)
    expect(isWellFormedApiKey(key.stdout.trimEnd())).toBe(true)
    const id = /key_[\w-]+/.exec(key.stderr)?.[0] ?? ''

    const listed = await fusion(['keys', 'list'], env)
    expect(listed.stdout).toContain(`${id}\tAcme\tci\tactive`)
    expect(listed.stdout).not.toContain(key.stdout.trim())

    const rotated = await fusion(['keys', 'rotate', id, '--grace', '30m'], env)
    expect(rotated).toMatchObject({ code: 0, stdout: expect.stringMatching(/^fus_\w{49}\n$/) })
    expect(await fusion(['keys', 'rotate', id, '--grace', 'soon'], env)).toMatchObject({ code: 2, stdout: '' })
    expect(await fusion(['keys', 'revoke', id], env)).toMatchObject({ code: 0, stdout: `Revoked ${id}\n` })
    expect((await fusion(['keys', 'list'], env)).stdout).toContain('\trevoked\t')
  })

  it('a key that cannot be is refused', async () => {
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

  it('seed fills a tenant and says how fast', async () => {
    const { code, stdout, stderr } = await fusion(['seed', '--tenant', 'Acme', '--users', '30'], env)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^Wrote 390 rows for 30 users in [\d.]+ s \(\d+ users\/s\)\.\n$/)
  })

  it('a reader that goes away early is no error', async () => {
    const entry = path.resolve(import.meta.dirname, '../../src/cli.ts')
    const shell = spawn('bash', ['-c', `set -o pipefail; "${process.execPath}" "${entry}" schema | head -1`], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const [stdout, stderr, [code]] = await Promise.all([text(shell.stdout), text(shell.stderr), once(shell, 'close')])
    expect({ lines: stdout.split('\n').length, stderr, code }).toEqual({ lines: 2, stderr: '', code: 0 })
  })
})

describe('serve on the embedded database', () => {
  const own = newDataDir()
  afterAll(() => rmSync(own, { recursive: true }))

  it('makes a demo tenant, answers with the printed key, keeps every row over a restart, and ends at once', async () => {
    const first = await startGateway({ DATA_DIR: own })
    const key = /x-api-key: (\S+)/.exec(first.output())?.[1] ?? ''
    const send = (address: string, init: RequestInit = {}) =>
      fetch(`${address}/users`, { ...init, headers: { 'x-api-key': key, 'content-type': 'application/json' } })
    const before = (await (await send(first.address)).json()) as { users: unknown[] }
    expect(before.users).toHaveLength(25)
    const body = JSON.stringify({ name: 'New', email: 'new@example.com', phone: '1' })
    expect((await send(first.address, { method: 'POST', body })).status).toBe(201)
    const curl = /curl .*/.exec(first.output())?.[0] ?? ''
    const shell = spawn('bash', ['-c', `${curl} -fsS`])
    expect(JSON.parse(await text(shell.stdout))).toMatchObject({ users: [{}, {}] })

    const second = fusion(['serve'], { DATA_DIR: own })
    expect(await second).toMatchObject({ code: 1, stderr: expect.stringContaining(`process ${first.child.pid}`) })

    const stopped = await first.stop('SIGINT')
    expect(stopped.code).toBe(0)
    expect(stopped.milliseconds).toBeLessThan(5_000)

    const restarted = await startGateway({ DATA_DIR: own })
    expect(restarted.output()).toContain(`x-api-key: ${key}`)
    const after = (await (await send(restarted.address)).json()) as { users: unknown[] }
    expect(after.users).toHaveLength(26)
    expect(after.users.slice(0, 25)).toEqual(before.users)
    expect((await restarted.stop('SIGTERM')).code).toBe(0)
  })

  it.each(['gateway.pid', 'pgdata', 'demo-key'])(
    'a first start that is killed when %s is there is finished by the next',
    async (file) => {
      const folder = newDataDir()
      const starting = startGateway({ DATA_DIR: folder }).catch(() => undefined)
      await expect.poll(() => existsSync(path.join(folder, file)), { timeout: 30_000, interval: 2 }).toBe(true)
      process.kill(Number.parseInt(readFileSync(path.join(folder, 'gateway.pid'), 'utf8'), 10), 'SIGKILL')
      await starting
      const gateway = await startGateway({ DATA_DIR: folder })
      const key = /x-api-key: (\S+)/.exec(gateway.output())?.[1] ?? ''
      const answer = await fetch(`${gateway.address}/users`, { headers: { 'x-api-key': key } })
      expect(((await answer.json()) as { users: unknown[] }).users).toHaveLength(25)
      await gateway.stop()
      rmSync(folder, { recursive: true })
    },
  )

  it('says in one line that the port is taken', async () => {
    const gateway = await startGateway({ DATA_DIR: own })
    const port = new URL(gateway.address).port
    const { code, stderr } = await fusion(['serve'], { DATA_DIR: 'memory', PORT: port })
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `listen EADDRINUSE: address already in use 127.0.0.1:${port}\n`,
    })
    await gateway.stop()
  })

  it('keeps every row when it is killed', async () => {
    const gateway = await startGateway({ DATA_DIR: own })
    const key = /x-api-key: (\S+)/.exec(gateway.output())?.[1] ?? ''
    const headers = { 'x-api-key': key, 'content-type': 'application/json' }
    const body = JSON.stringify({ name: 'Last words', email: 'last@example.com', phone: '1' })
    expect((await fetch(`${gateway.address}/users`, { method: 'POST', body, headers })).status).toBe(201)
    await gateway.stop('SIGKILL')
    const restarted = await startGateway({ DATA_DIR: own })
    const { users } = (await (await fetch(`${restarted.address}/users`, { headers })).json()) as {
      users: { name: string }[]
    }
    expect(users.at(-1)?.name).toBe('Last words')
    await restarted.stop()
  })
})
