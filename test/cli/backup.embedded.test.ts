import { existsSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fusion, startGateway } from '../support/cli.ts'
import { createEmptyDir } from '../support/data-dir.ts'

/** What a client sees of a gateway. */
async function readAll(address: string, key: string, after: string | null) {
  const query = `query ($after: String) { users(first: 10, after: $after) { totalCount nodes { id name } pageInfo { endCursor } }
    jobs(first: 100) { nodes { id status payload result attempts } } apiKeys { nodes { id scopes } } }`
  const answer = await fetch(`${address}/graphql`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ query, variables: { after } }),
  })
  const { data } = (await answer.json()) as { data: { users: { pageInfo: { endCursor: string } } } }
  return data
}

describe('a backup of the embedded database', () => {
  const folder = createEmptyDir()
  const [dataDir, file] = [path.join(folder, 'data'), path.join(folder, 'backup.tar.gz')]
  let gateway: Awaited<ReturnType<typeof startGateway>>
  let key: string
  let before: Awaited<ReturnType<typeof readAll>>
  let page: Awaited<ReturnType<typeof readAll>>
  const written: string[] = []

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
  afterAll(async () => {
    await gateway.stop()
    rmSync(folder, { recursive: true })
  })

  it('is written while the gateway runs and writes, for its owner alone', async () => {
    let isDone = false
    const writing = (async () => {
      for (let number = 1; !isDone; number += 1) {
        expect((await write(gateway.address, `during ${number}`)).status).toBe(201)
        written.push(`during ${number}`)
      }
    })()
    expect(await fusion(['backup', file], { DATA_DIR: dataDir })).toEqual({
      code: 0,
      stdout: `Wrote ${file}\n`,
      stderr: '',
    })
    isDone = true
    await writing
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(written.length).toBeGreaterThan(0)
  })

  it('overwrites nothing', async () => {
    const { mtimeMs } = statSync(file)
    expect(await fusion(['backup', file], { DATA_DIR: dataDir })).toMatchObject({
      code: 1,
      stderr: `${file} exists. A backup overwrites nothing.\n`,
    })
    expect(statSync(file).mtimeMs).toBe(mtimeMs)
  })

  it('is restored with its rows, keys, jobs and stored answers; ids and cursors stay good', async () => {
    const restored = path.join(folder, 'restored')
    expect(await fusion(['restore', file], { DATA_DIR: restored })).toEqual({
      ...{ code: 0, stdout: `Restored ${restored}\n`, stderr: '' },
    })
    const other = await startGateway({ DATA_DIR: restored })
    expect(other.output()).toContain(`x-api-key: ${key}`)
    const withoutCount = (data: typeof page) => ({ ...data, users: { ...data.users, totalCount: 0 } })
    expect(withoutCount(await readAll(other.address, key, null))).toEqual(withoutCount(before))
    const next = await readAll(other.address, key, before.users.pageInfo.endCursor)
    expect(withoutCount(next)).toEqual(withoutCount(page))
    const repeated = await write(other.address, 'before the backup')
    expect([repeated.status, repeated.headers.get('idempotent-replayed')]).toEqual([201, 'true'])
    // What was written during the backup is there up to one moment, and nothing after it.
    const names = JSON.stringify(
      await (await fetch(`${other.address}/users`, { headers: { 'x-api-key': key } })).json(),
    )
    const present = written.map((name) => names.includes(`"${name}"`))
    expect(present).toEqual(present.toSorted((one, another) => Number(another) - Number(one)))
    await other.stop()
    expect(await fusion(['restore', file], { DATA_DIR: restored })).toMatchObject({
      code: 1,
      stderr: `${restored} has a database. Move it away, or choose another DATA_DIR.\n`,
    })
    // Without a process that has the folder open.
    const again = path.join(folder, 'again.tar.gz')
    expect(await fusion(['backup', again], { DATA_DIR: restored })).toMatchObject({ code: 0 })
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
