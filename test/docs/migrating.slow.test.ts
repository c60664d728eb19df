import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startCommand } from '../support/cli.ts'
import { freePort } from '../support/cluster.ts'
import { type CommandDatabase, createCommandDatabase } from '../support/command-database.ts'
import { projectRoot, readBlocks } from '../support/docs.ts'
import { type OldRecord, type OldService, startOldService } from '../support/old-service.ts'

const time = '2024-01-01T00:00:00.000Z'
const user = (id: string, name = 'Ada'): OldRecord => ({
  id,
  created_at: '2024-01-01T00:00:00Z',
  updated_at: time,
  name,
  email: 'ada@example.com',
  phone: null,
  tenant_app_id: 'old',
  accounts: [{ id: `a_${id}`, user_platform: 'X', platform_account_id: id, display_name: 'd' }],
})

const blocks = readBlocks('docs/migrating.md').filter(({ language }) => language === 'sh')
const used = new Set<string>()
let database: CommandDatabase
let folder: string
let old: OldService
let port: number
let proxyPort: number
let keys: Record<string, string> = {}
const users = [user('usr_1'), user('usr_2', ' ')]

beforeAll(async () => {
  database = await createCommandDatabase()
  folder = mkdtempSync(path.join(tmpdir(), 'fusion-migrating-'))
  port = await freePort()
  proxyPort = await freePort()
  const profile = {
    id: 'prf_1',
    user_platform: 'X',
    platform_account_id: 'usr_1',
    emails: [],
    phone_numbers: [],
    addresses: [],
  }
  old = await startOldService({
    key: 'old-key',
    users: () => users,
    profileOf: (id) => (id === 'a_usr_1' ? { ...profile, verified: false } : undefined),
    jobs: { job_1: { id: 'job_1', status: 'pending', attempts: 0, created_at: time, updated_at: time } },
  })
  const requests = readBlocks('docs/migrating.md').length
  expect(requests).toBeGreaterThan(5)
  writeFileSync(path.join(folder, 'jobs.txt'), 'job_1\n')
  const [, lines = ''] =
    /\n\n```\n(GET .*?)```/s.exec(readFileSync(path.join(projectRoot, 'docs/migrating.md'), 'utf8')) ?? []
  writeFileSync(path.join(folder, 'requests.txt'), lines.replace('"acc_1","acc_2"', '"a_usr_1"'))
  writeFileSync(
    path.join(folder, 'documents.json'),
    JSON.stringify({ who: 'query Who { viewer { tenantId: __typename } }' }),
  )
})
afterAll(async () => {
  await old.close()
  await database.remove()
  rmSync(folder, { recursive: true })
})

/** Starts the block of the page that contains a text, with the addresses of this test. */
function startBlock(part: string) {
  const block = blocks.find(({ code }) => `${code}\`\`\``.includes(part))
  if (!block) throw new Error(`No block has ${part}`)
  used.add(block.code)
  const code = block.code
    .replaceAll(/npm run (-s )?fusion --/g, `exec_fusion`)
    .replaceAll('https://old.example.com', old.url)
    .replaceAll('http://127.0.0.1:4001', `http://127.0.0.1:${port}`)
    .replaceAll('http://127.0.0.1:4000', `http://127.0.0.1:${port}`)
    .replaceAll('4100', String(proxyPort))
    .replaceAll('OLD_API_KEY=…', 'OLD_API_KEY=old-key')
  const command = `'${process.execPath}' '${path.join(projectRoot, 'bin/fusion.js')}'`
  // A function of the shell would not get signals.
  const script = code.replaceAll('exec_fusion', command)
  return spawn('bash', ['-c', `set -e\n${script}\nenv | grep _API_KEY >&2 || true`], {
    cwd: folder,
    env: { ...process.env, DATABASE_URL: '', ...database.env, ...keys },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

async function run(part: string) {
  const child = startBlock(part)
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code: code as number, stdout, stderr }
}

const read = (name: string) => readFileSync(path.join(folder, name), 'utf8')

/** The embedded database belongs to one process, so the gateway runs while nothing is imported. */
async function whileServing(work: () => Promise<void>): Promise<void> {
  const gateway = await startCommand(['serve'], { ...database.env, PORT: String(port) }, 'Server listening at')
  try {
    await work()
  } finally {
    await gateway.stop()
  }
}

it('the plan of docs/migrating.md works as it is written, from the first import to the way back', async () => {
  const begun = await run('tenants create')
  keys = Object.fromEntries(
    [...begun.stderr.matchAll(/^(\w+_API_KEY)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]),
  )
  expect(keys).toEqual({ OLD_API_KEY: 'old-key', FUSION_API_KEY: expect.stringMatching(/^\S{20,}$/) })

  const dry = await run('--dry-run')
  expect([dry.code, dry.stderr]).toEqual([1, expect.stringContaining('would write 3 rows, and refuse 1 records.')])
  const imported = await run('--rejects')
  expect(imported.code).toBe(1)
  const lines = read('import.ndjson')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines[0].refused).toMatchObject({ id: 'usr_2', reason: 'name: must not be blank' })
  expect(lines[1]).toEqual({ resource: 'user', old: 2, gateway: 1 })
  // What is refused is fixed at the old service.
  users[1] = user('usr_2', 'Grace')
  expect((await run('--jobs jobs.txt')).code).toBe(0)
  expect(read('jobs.ndjson')).toContain('{"resource":"job","old":1,"gateway":1}')

  await whileServing(async () => {
    const replayed = await run('--requests requests.txt\n')
    expect(replayed).toMatchObject({ code: 0, stderr: expect.stringMatching(/^3 requests, 3 compared: /m) })
    const places = replayed.stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split('\t').slice(0, 3).join(' '))
    expect(places.toSorted()).toEqual([
      'GET /users $.users[*].tenant_app_id value',
      'GET /users/{id} $.tenant_app_id value',
    ])
    await useProxy('--port 4100 --ignore', async (address) => {
      expect(await (await fetch(`${address}/users`)).json()).toEqual({ users })
    })
    expect(JSON.parse(read('report.json'))).toMatchObject({ requests: 1, equal: 1, differences: [] })
  })

  // A change at the old service, which the import of the night brings.
  users[1] = user('usr_2', 'Grace Hopper')
  expect((await run('example.com > import.ndjson\n```')).stderr).toContain('Wrote 1 rows')
  await whileServing(async () => {
    const proof = await run("--ignore '**.tenant_app_id' --fail-on 1\n```")
    expect(proof).toMatchObject({ code: 0, stdout: '', stderr: expect.stringContaining('3 compared: 3 equal') })
    await useProxy('--record recorded.ndjson', async (address) => {
      const headers = { 'x-api-key': keys['FUSION_API_KEY'] ?? '', 'content-type': 'application/json' }
      const query = 'query Named($id: ID!) { user(id: $id) { name } }'
      const body = JSON.stringify({ query, variables: { id: 'usr_1' } })
      const response = await fetch(`${address}/graphql`, { method: 'POST', headers, body })
      expect(await response.json()).toMatchObject({ data: { user: { name: 'Ada' } } })
    })
    const rehearsal = await run('--operations')
    expect(rehearsal).toMatchObject({ code: 0, stderr: expect.stringContaining('10 compared: 10 equal') })
    expect(rehearsal.stderr).toContain('POST /graphql Who: old ')
    expect(rehearsal.stderr).toContain('POST /graphql Named: old ')
  })
  // On the embedded database, the block of the switch cannot import while the gateway runs.
  if (database.env['DATABASE_URL']) {
    await whileServing(async () => {
      expect((await run('> import.ndjson\nnpm')).stderr).toContain('3 compared: 3 equal')
    })
  } else used.add(blocks.find(({ code }) => code.includes('> import.ndjson\nnpm'))?.code ?? '')

  expect((await run('--out switch.ndjson')).code).toBe(0)
  await whileServing(async () => {
    const headers = { 'x-api-key': keys['FUSION_API_KEY'] ?? '', 'content-type': 'application/json' }
    const body = JSON.stringify({ name: 'Changed' })
    await fetch(`http://127.0.0.1:${port}/users/usr_1`, { method: 'PUT', headers, body })
  })
  expect((await run('--since')).code).toBe(0)
  const changes = read('changes.ndjson')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(changes).toMatchObject([{ id: 'usr_1', name: 'Changed' }, { id: 'prf_1' }, { event: expect.any(String) }])

  expect(blocks.filter(({ code }) => !used.has(code))).toEqual([])
})

/** Runs a proxy of the page, uses it as a client, and ends it with Ctrl-C. */
async function useProxy(part: string, use: (address: string) => Promise<void>): Promise<void> {
  const proxy = startBlock(part)
  const closed = once(proxy, 'close')
  let output = ''
  await new Promise<void>((resolve) => {
    proxy.stderr.on('data', (chunk) => {
      output += chunk
      if (output.includes('Ctrl-C ends')) resolve()
    })
  })
  await use(`http://127.0.0.1:${proxyPort}`)
  process.kill(-(proxy.pid as number), 'SIGINT')
  await closed
}
