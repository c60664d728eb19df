// Measures what starts cost: CPU seconds of commands, of `serve` and of `work` until they are ready, the memory of the
// gateway then, the time of a first start in an empty folder, and the CPU of an idle gateway. Fails if a bound is
// missed.
import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { cpuOf, memoryOf } from './machine.js'
import { readOptions } from './options.js'
import { projectRoot } from './peer.js'
import { openServer } from './server.js'

const usage = `npm run bench -- start [--try] [--runs N]

  --runs  how often each start is measured; the least counts (default: 5)
  DATABASE_URL names a PostgreSQL server, as a user who may create databases. Without it one is started.
`
const options = readOptions(usage, { runs: '5' }, { runs: '1' })
const runs = Number(options.runs)
const port = 4_720
const entry = path.join(projectRoot, 'bin/fusion.js')
const folder = mkdtempSync(path.join(tmpdir(), 'fusion-bench-'))
const server = await openServer()
const url = await server.createDatabase()
const onServer = { DATABASE_URL: url }

const { DATABASE_URL: _, DATA_DIR: _dataDir, ...rest } = process.env
const environment = (env) => ({ ...rest, LOG_LEVEL: 'info', PORT: String(port), METRICS_PORT: '', ...env })

const fusion = (...args) => promisify(execFile)(process.execPath, [entry, ...args], { env: environment(onServer) })

/** The CPU seconds of a command until its end. A shell is its parent, and reports the time of its children. */
async function cpuOfCommand(args) {
  const script = '"$@" > /dev/null 2>&1; times'
  const { stdout } = await promisify(execFile)('sh', ['-c', script, 'sh', process.execPath, entry, ...args], {
    env: environment(onServer),
  })
  const [user, system] = stdout.trim().split('\n')[1].split(' ').map(secondsOf)
  return user + system
}

/** `0m1.250s` ⇒ 1.25 */
function secondsOf(text) {
  const [, minutes, seconds] = /^(\d+)m([\d.]+)s$/.exec(text)
  return Number(minutes) * 60 + Number(seconds)
}

const isReady = () =>
  new Promise((resolve) => {
    http
      .get({ port, path: '/ready', agent: false }, (response) => resolve(response.resume().statusCode === 200))
      .on('error', () => resolve(false))
  })

/** Starts a process, and measures it when it is ready. */
async function start(args, env, ready, idleSeconds = 0) {
  const startedAt = performance.now()
  const child = spawn(process.execPath, [entry, ...args], {
    env: environment(env),
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let output = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  while (!(await ready(output))) {
    if (child.exitCode !== null) throw new Error(`fusion ${args.join(' ')} has ended:\n${output}`)
    await sleep(10)
  }
  // What follows a start, such as the first look for old rows, is over then.
  if (idleSeconds > 0) await sleep(options.try ? 0 : 5_000)
  const before = cpuOf(child.pid)
  await sleep(idleSeconds * 1_000)
  const result = {
    idle: (cpuOf(child.pid) - before) / (idleSeconds * 10),
    cpu: cpuOf(child.pid) / 1_000,
    seconds: (performance.now() - startedAt) / 1_000,
    memory: memoryOf(child.pid),
  }
  child.kill('SIGTERM')
  await ended
  return result
}

const serve = (env) => start(['serve'], env, isReady)
const work = (env) => start(['work'], env, (output) => output.includes('"msg":"working"'))
const dataDir = path.join(folder, 'data')

async function firstStart() {
  rmSync(dataDir, { recursive: true, force: true })
  return (await serve({ DATA_DIR: dataDir })).seconds
}

/** The share of a core that a gateway on the embedded database uses when nobody uses it. */
async function idle() {
  return (await start(['serve'], { DATA_DIR: dataDir }, isReady, options.try ? 1 : 15)).idle
}

/** Each start, its unit and its bound. */
const starts = [
  ['fusion --help', 's CPU', 0.2, () => cpuOfCommand(['--help'])],
  ['fusion --version', 's CPU', 0.2, () => cpuOfCommand(['--version'])],
  ['wrong usage: fusion keys create', 's CPU', 0.2, () => cpuOfCommand(['keys', 'create'])],
  ['fusion keys list', 's CPU', 0.8, () => cpuOfCommand(['keys', 'list'])],
  ['fusion tenants create', 's CPU', 0.8, () => cpuOfCommand(['tenants', 'create', `Tenant ${performance.now()}`])],
  ['fusion export, 10 users', 's CPU', 1.2, () => cpuOfCommand(['export', '--tenant', 'Bench'])],
  ['fusion serve until /ready', 's CPU', 1.8, async () => (await serve(onServer)).cpu],
  ['fusion work until it works', 's CPU', 1.8, async () => (await work(onServer)).cpu],
  ['memory of fusion serve after /ready', 'MiB', 130, async () => (await serve(onServer)).memory],
  ['fusion serve in an empty folder until /ready', 's', 4, firstStart],
  ['fusion serve on an embedded database, idle', '% CPU', 1.4, idle],
]

let isMissed = false
try {
  await fusion('migrate', 'deploy')
  await fusion('tenants', 'create', 'Bench')
  await fusion('seed', '--tenant', 'Bench', '--users', '10')
  process.stdout.write('| Start | Least | Most | Bound |\n|---|---|---|---|\n')
  for (const [name, unit, bound, measure] of starts) {
    // The first one fills the compile cache.
    if (!options.try) await measure()
    const values = []
    for (let run = 0; run < runs; run += 1) values.push(await measure())
    const [least, most] = [Math.min(...values), Math.max(...values)]
    if (least > bound && !options.try) isMissed = true
    const digits = unit === 'MiB' ? 0 : 2
    const cells = [
      name,
      `${least.toFixed(digits)} ${unit}`,
      most.toFixed(digits),
      `${bound}${least > bound ? ' missed' : ''}`,
    ]
    process.stdout.write(`| ${cells.join(' | ')} |\n`)
  }
} finally {
  rmSync(folder, { recursive: true })
  await server.remove()
}
process.exit(isMissed ? 1 : 0)
