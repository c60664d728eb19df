// Builds the tree of the image as the Dockerfile does, and starts it as a container would: without npm, as an unprivileged user, from files
// that nobody may change. Prints its size, the time until it is ready, and its peak memory. No container engine is needed.
//
//   TEST_DATABASE_URL=postgresql://… npm run check:image
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import pg from 'pg'

const root = path.resolve(import.meta.dirname, '../..')
const adminUrl = process.env['TEST_DATABASE_URL']
if (!adminUrl) throw new Error('Set TEST_DATABASE_URL to the URL of a user who may create databases')

/** The user `nobody`, if this process may start processes of others. */
const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
const maxMemoryMib = 512
const maxSizeMib = 700

const folder = mkdtempSync(path.join(tmpdir(), 'fusion-image-'))
chmodSync(folder, 0o755)
const [source, tree, data] = ['source', 'gateway', 'data'].map((name) => path.join(folder, name)) as [
  string,
  string,
  string,
]

function buildTree(): string {
  const list = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: root, encoding: 'utf8' })
  const ignored = /^(test|bench|examples|tools|docs)\//
  for (const file of list.split('\n').filter((name) => name !== '' && !ignored.test(name))) {
    cpSync(path.join(root, file), path.join(source, file), { recursive: true })
  }
  const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim()
  execFileSync('deploy/image/build.sh', [tree, commit], { cwd: source, stdio: ['ignore', 'ignore', 'inherit'] })
  rmSync(source, { recursive: true })
  return commit
}

/** Starts a command of the image. The Node of the image is the one of this process, and nothing else is on the path. */
function start(command: string[], env: Record<string, string>) {
  return spawn(process.execPath, ['src/cli.ts', ...command], {
    cwd: tree,
    env: { PATH: path.join(folder, 'empty'), HOST: '127.0.0.1', NODE_ENV: 'production', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...user,
  })
}

async function run(command: string[], env: Record<string, string> = {}): Promise<string> {
  const child = start(command, env)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const [code] = await once(child, 'close')
  assert.equal(code, 0, output)
  return output.trim()
}

interface Served {
  readonly readyMilliseconds: number
  readonly peakMib: number
}

/** Serves requests until the gateway has answered a thousand, and stops it as a container engine does. */
async function serve(env: Record<string, string>, key: (output: string) => string): Promise<Served> {
  const started = performance.now()
  const child = start(['serve'], { PORT: '0', ...env })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const listening = /Server listening at (http:\/\/[\d.:]+)/
  while (!listening.test(output)) {
    assert.equal(child.exitCode, null, output)
    await Promise.race([once(child.stdout, 'data'), once(child, 'close')])
  }
  const address = listening.exec(output)?.[1]
  const isReady = () =>
    fetch(`${address}/ready`).then(
      ({ ok }) => ok,
      () => false,
    )
  while (!(await isReady())) assert.equal(child.exitCode, null, output)
  const readyMilliseconds = performance.now() - started
  const headers = { 'x-api-key': key(output) }
  for (let sent = 0; sent < 1_000; sent += 50) {
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => fetch(`${address}/users?limit=100`, { headers })),
    )
    for (const answer of answers) assert.equal(answer.status, 200, await answer.text())
  }
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
  const peakMib = Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1_024
  child.kill('SIGTERM')
  const [code] = await once(child, 'close')
  assert.equal(code, 0, output)
  return { readyMilliseconds, peakMib }
}

const database = `fusion_image_${process.pid}`
const admin = new pg.Client({ connectionString: adminUrl })
await admin.connect()
try {
  const commit = buildTree()
  mkdirSync(data, { mode: 0o700 })
  if (user.uid !== undefined) chownSync(data, user.uid, user.gid)
  const sizeMib = Number(execFileSync('du', ['-sm', tree], { encoding: 'utf8' }).split('\t')[0])
  assert.match(await run(['--version']), new RegExp(`commit ${commit.slice(0, 12)}, Node 24`))

  await admin.query(`CREATE DATABASE ${database}`)
  const url = new URL(adminUrl)
  url.pathname = `/${database}`
  const env = { DATABASE_URL: url.href }
  await run(['migrate', 'deploy'], env)
  await run(['tenants', 'create', 'Image'], env)
  await run(['seed', '--tenant', 'Image', '--users', '1000'], env)
  const created = await run(['keys', 'create', '--tenant', 'Image'], env)
  const onServer = await serve(env, () => /fus_\w+/.exec(created)?.[0] ?? '')
  const embedded = await serve({ DATA_DIR: data }, (output) => /fus_\w+/.exec(output)?.[0] ?? '')

  assert.ok(sizeMib <= maxSizeMib, `The tree has ${sizeMib} MiB, more than ${maxSizeMib}`)
  assert.ok(onServer.peakMib <= maxMemoryMib, `The gateway took ${onServer.peakMib} MiB, more than ${maxMemoryMib}`)
  const row = ({ readyMilliseconds, peakMib }: Served) =>
    `ready after ${(readyMilliseconds / 1_000).toFixed(1)} s, at most ${peakMib.toFixed(0)} MiB`
  process.stdout.write(`size      ${sizeMib} MiB\nserver    ${row(onServer)}\nembedded  ${row(embedded)}\n`)
} finally {
  await admin.query(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`)
  await admin.end()
  execFileSync('chmod', ['-R', 'u+w', folder])
  rmSync(folder, { recursive: true })
}
