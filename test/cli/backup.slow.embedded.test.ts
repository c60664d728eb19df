import { existsSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fusion, startGateway } from '../support/cli.ts'
import { createEmptyDir } from '../support/data-dir.ts'

/** What a client sees of a gateway. */
async function readAll(address: string, key: string, after: string | null) {
  const query = `query ($after: String) { users(first: 10, after: $after) { totalCount nodes { id name } pageInfo { endCursor } }
    jobs(first: 100) { nodes { id status payload result attempts } } apiKeys { nodes { id scopes } } }`
  const response = await fetch(`${address}/graphql`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ query, variables: { after } }),
  })
  const { data } = (await response.json()) as { data: { users: { pageInfo: { endCursor: string } } } }
  return data
}

describe('a backup of the embedded database', () => {
  const folder = createEmptyDir()
  const [dataDir, file] = [path.join(folder, 'data'), path.join(folder, 'backup.tar.gz')]
  let gateway: Awaited<ReturnType<typeof startGateway>>
  let key: string
  let before: Awaited<ReturnType<typeof readAll>>
  let page: Awaited<ReturnType<typeof readAll>>

  const write = (address: string, name: string) =>
    fetch(`${address}/users`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json', 'idempotency-key': name.replaceAll(' ', '-') },
      body: JSON.stringify({ name, email: 'new@example.com', phone: '1' }),
    })

  beforeAll(async () => {
    gateway = await startGateway({ DATA_DIR: dataDir })
    key = /x-api-key: (\S+)/.exec(gateway.output())?.[1] ?? ''
    expect((await write(gateway.address, 'before the backup')).status).toBe(201)
    before = await readAll(gateway.address, key, null)
    page = await readAll(gateway.address, key, before.users.pageInfo.endCursor)
  })
  afterAll(() => {
    gateway.child.kill('SIGKILL')
    rmSync(folder, { recursive: true })
  })

  it('is refused while the gateway runs, which is named', async () => {
    expect(await fusion(['backup', file], { DATA_DIR: dataDir })).toEqual({
      code: 1,
      stdout: '',
      stderr: `The data folder ${dataDir} is open in process ${gateway.child.pid} on ${hostname()}. Stop it first, or choose another DATA_DIR.\n`,
    })
    expect(readdirSync(folder)).toEqual(['data'])
  })

  it('is written when the gateway has stopped, or was killed, for its owner alone', async () => {
    await gateway.stop('SIGKILL')
    expect(await fusion(['backup', file], { DATA_DIR: dataDir })).toEqual({
      code: 0,
      stdout: `Wrote ${file}\n`,
      stderr: '',
    })
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readdirSync(folder).toSorted()).toEqual(['backup.tar.gz', 'data'])
  })

  it('overwrites nothing', async () => {
    const { mtimeMs } = statSync(file)
    expect(await fusion(['backup', file], { DATA_DIR: dataDir })).toMatchObject({
      code: 1,
      stderr: `${file} exists. A backup overwrites nothing.\n`,
    })
    expect(statSync(file).mtimeMs).toBe(mtimeMs)
  })

  it('is restored with its rows, keys, jobs and stored responses; ids and cursors stay good', async () => {
    const restored = path.join(folder, 'restored')
    expect(await fusion(['restore', file], { DATA_DIR: restored })).toEqual({
      code: 0,
      stdout: `Restored ${restored}\n`,
      stderr: '',
    })
    const other = await startGateway({ DATA_DIR: restored })
    expect(other.output()).toContain(`x-api-key: ${key}`)
    expect(await readAll(other.address, key, null)).toEqual(before)
    expect(await readAll(other.address, key, before.users.pageInfo.endCursor)).toEqual(page)
    const repeated = await write(other.address, 'before the backup')
    expect([repeated.status, repeated.headers.get('idempotent-replayed')]).toEqual([201, 'true'])
    await other.stop()
    expect(await fusion(['restore', file], { DATA_DIR: restored })).toMatchObject({
      code: 1,
      stderr: `${restored} has a database. Move it away, or choose another DATA_DIR.\n`,
    })
  })

  it('that is incomplete, or something else, is not restored', async () => {
    const [cut, foreign, target] = ['cut.tar.gz', 'foreign.tar.gz', 'target'].map((name) =>
      path.join(folder, name),
    ) as [string, string, string]
    writeFileSync(cut, readFileSync(file))
    truncateSync(cut, Math.floor(statSync(cut).size / 2))
    writeFileSync(foreign, 'not an archive')
    for (const wrong of [cut, foreign, path.join(folder, 'missing')]) {
      const { code, stderr } = await fusion(['restore', wrong], { DATA_DIR: target })
      expect([code, stderr.split('\n').length]).toEqual([1, 2])
      expect(stderr).toContain(wrong)
      expect(existsSync(path.join(target, 'pgdata'))).toBe(false)
    }
  })

  it('is refused for a database on a server, which has tools of its own', async () => {
    const env = { DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/none' }
    expect(await fusion(['backup', path.join(folder, 'x')], env)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('use pg_dump'),
    })
  })
})
