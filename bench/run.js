// Seeds a database, starts the gateway and its peers, and loads them in turn. `--quick` for a first look.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import path from 'node:path'
import { isDeepStrictEqual, parseArgs, promisify } from 'node:util'
import pg from 'pg'
import { canMakeClusters, createCluster } from '../test/support/cluster.ts'
import { createCases } from './cases.js'
import { measureGrowth } from './growth.js'
import { cpuOf, cpuOfPostgresql, peakMemory, resetPeakMemory } from './machine.js'
import { median, writeResults } from './results.js'
import { seedDatabase } from './seed.js'
import { measureStream } from './stream.js'

const usage = `npm run bench -- [--quick] [--only CASES] [--rounds N] [--seconds N] [--no-write]

  --quick    fewer users, fewer and shorter rounds: under 3 minutes
  --only     some cases: abd
  DATABASE_URL names a PostgreSQL server, as a user who may make databases; without it Debian's is started.
`
const { values: options } = parseArgs({
  options: {
    ...{ quick: { type: 'boolean', default: false }, only: { type: 'string', default: 'abcdefghijk' } },
    ...{ rounds: { type: 'string' }, seconds: { type: 'string' }, help: { type: 'boolean', default: false } },
    'no-write': { type: 'boolean', default: false },
  },
})
if (options.help) {
  process.stdout.write(usage)
  process.exit(0)
}
const rounds = Number(options.rounds ?? (options.quick ? 3 : 5))
const seconds = Number(options.seconds ?? (options.quick ? 1 : 2))
const users = options.quick ? 5_000 : 20_000
const manyUsers = options.quick ? 20_000 : 100_000
const connections = 16
const say = (text) => process.stderr.write(`${text}\n`)

const peers = {
  gateway: [path.resolve(import.meta.dirname, '../src/cli.ts'), 'serve'],
  limit: ['peers/limit.js'],
  postgraphile: ['peers/postgraphile.js'],
  mercurius: ['peers/mercurius.js'],
  relation: ['peers/relation.ts'],
  sofa: ['peers/sofa.ts'],
}

const { url, remove } = await openServer()
const started = []
try {
  const seeded = await seedDatabase(url, { users, manyUsers, say })
  const cases = createCases(seeded)
  const servers = {}
  let port = 47_310
  for (const [name, args] of Object.entries(peers)) servers[name] = await startPeer(name, args, port++, seeded)

  const measured = {}
  for (const [letter, { title, ...asks }] of Object.entries(cases).filter(([name]) => options.only.includes(name))) {
    const names = Object.keys(asks)
    const keyOf = (name) => (name === 'gateway' ? (letter === 'g' ? seeded.keys.small : seeded.keys.tenant) : undefined)
    await checkAnswers(letter, asks, servers, keyOf)
    const runs = Object.fromEntries(names.map((name) => [name, []]))
    for (const name of names) await load(servers[name], asks[name], keyOf(name), 1)
    for (let round = 0; round < rounds; round += 1) {
      // Another one begins each round, so that none always has the machine as the same one left it.
      for (let index = 0; index < names.length; index += 1) {
        const name = names[(index + round) % names.length]
        runs[name].push(await load(servers[name], asks[name], keyOf(name), seconds))
      }
    }
    // The limit as well: what it does not keep, this machine does not.
    const paced = { gateway: [], limit: [] }
    for (let round = 0; round < 3; round += 1) {
      for (const name of ['gateway', 'limit']) {
        const rate = 0.7 * median(runs[name].map(({ perSecond }) => perSecond))
        paced[name].push({
          rate,
          ...(await pace(servers[name], asks[name], keyOf(name), rate, Math.min(seconds, 1.5))),
        })
      }
    }
    measured[letter] = { title, runs, paced }
    say(`measured (${letter}) ${title}`)
  }
  if (options.only.includes('j')) {
    const { port: at, child } = servers.gateway
    const stream = { port: at, pid: child.pid, key: seeded.keys.many, url, many: seeded.many, users: manyUsers }
    measured.j = { title: `GET /users of ${manyUsers} users`, stream: await measureStream({ ...stream, rounds }) }
  }
  if (options.only.includes('k')) {
    const sizes = options.quick ? [1_000, 10_000, 100_000] : [1_000, 10_000, 100_000, 1_000_000]
    const growth = await measureGrowth({ port: servers.gateway.port, url, sizes, say })
    measured.k = { title: 'a page of 20 users, as the tenant grows and the page lies deeper', growth }
  }
  const explanation = readFileSync(path.join(import.meta.dirname, 'where-the-time-goes.md'), 'utf8')
  const report = `${writeResults(measured, await describeRun())}\n${explanation}`
  process.stdout.write(report)
  if (!options['no-write']) writeFileSync(path.join(import.meta.dirname, 'RESULTS.md'), report)
} finally {
  for (const child of started) child.kill('SIGKILL')
  await remove()
}

async function openServer() {
  const given = process.env.DATABASE_URL
  if (!given) {
    if (!canMakeClusters) throw new Error('Set DATABASE_URL, or install PostgreSQL.')
    return createCluster()
  }
  const name = `fusion_bench_${process.pid}`
  const run = async (sql) => {
    const client = new pg.Client({ connectionString: given })
    await client.connect()
    await client.query(sql)
    await client.end()
  }
  await run(`CREATE DATABASE ${name}`)
  const own = new URL(given)
  own.pathname = `/${name}`
  return { url: own.href, remove: () => run(`DROP DATABASE ${name} WITH (FORCE)`) }
}

async function startPeer(name, args, port, seeded) {
  const { keys: _, ...shown } = seeded
  const child = spawn(process.execPath, args, {
    cwd: import.meta.dirname,
    env: {
      ...process.env,
      ...{ DATABASE_URL: url, PORT: String(port), NODE_ENV: 'production', GRAPHILE_ENV: 'production' },
      // One key sends as fast as it can: that is what is measured, and not how it is stopped.
      ...{ RATE_LIMIT: '0', SEEDED: JSON.stringify(shown), LOG_LEVEL: name === 'gateway' ? 'info' : 'warn' },
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  started.push(child)
  let output = ''
  await new Promise((resolve, reject) => {
    const read = (chunk) => {
      if (output.length < 10_000) output += chunk
      if (/ready|Server listening/.test(output)) resolve()
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    child.once('exit', (code) => reject(new Error(`${name} ended with ${code}:\n${output}`)))
  })
  say(`started ${name}`)
  return { name, port, child }
}

async function checkAnswers(letter, asks, servers, keyOf) {
  const answers = {}
  for (const [name, ask] of Object.entries(asks)) {
    const { method = 'GET', path: at, body, pick } = ask
    const key = keyOf(name)
    const response = await fetch(`http://127.0.0.1:${servers[name].port}${at}`, {
      method,
      headers: { 'content-type': 'application/json', ...(key && { 'x-api-key': key }) },
      ...(body && { body: JSON.stringify(body).replace('[<id>]', `check-${Date.now()}`) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`(${letter}) ${name}: ${response.status} ${text.slice(0, 500)}`)
    answers[name] = JSON.parse(JSON.stringify(pick(JSON.parse(text))))
  }
  for (const [name, answer] of Object.entries(answers)) {
    if (isDeepStrictEqual(sorted(answer), sorted(answers.gateway))) continue
    const show = (value) => JSON.stringify(sorted(value)).slice(0, 600)
    throw new Error(`(${letter}) ${name} answers other data:\n${show(answer)}\n${show(answers.gateway)}`)
  }
}

/** With its keys in one order. */
function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key])]),
  )
}

async function load({ port, child }, ask, key, duration) {
  resetPeakMemory(child.pid)
  const before = { server: cpuOf(child.pid), database: cpuOfPostgresql() }
  const { pick: _, ...request } = ask
  const result = await runLoader('load.js', { port, ask: request, key, seconds: duration, connections })
  return {
    perSecond: result.requests / result.seconds,
    p50: result.p50,
    p99: result.p99,
    serverCpu: (cpuOf(child.pid) - before.server) / result.requests,
    databaseCpu: (cpuOfPostgresql() - before.database) / result.requests,
    memory: peakMemory(child.pid),
  }
}

/** How long answers take at a steady rate. */
function pace({ port }, { pick: _, ...ask }, key, rate, duration) {
  return runLoader('paced.js', { port, ask, key, rate, seconds: duration, connections })
}

async function runLoader(file, job) {
  const loader = spawn(process.execPath, [path.join(import.meta.dirname, file), JSON.stringify(job)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  loader.stdout.on('data', (chunk) => {
    output += chunk
  })
  await once(loader, 'close')
  const result = JSON.parse(output)
  if (result.failures > 0)
    throw new Error(`${result.failures} requests failed: ${JSON.stringify(job.ask).slice(0, 300)}`)
  return result
}

async function describeRun() {
  const version = (name, from = 'bench/node_modules') =>
    JSON.parse(readFileSync(path.resolve(import.meta.dirname, `../${from}/${name}/package.json`), 'utf8')).version
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query('SHOW server_version')
  await client.end()
  const { stdout } = await promisify(execFile)('git', ['rev-parse', '--short', 'HEAD'], {
    cwd: import.meta.dirname,
  }).catch(() => ({ stdout: 'unknown' }))
  return {
    date: new Date().toISOString().slice(0, 10),
    commit: stdout.trim(),
    machine: `${cpus().length} × ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB`,
    versions: [
      `Node ${process.version}`,
      `PostgreSQL ${rows[0].server_version}`,
      `PostGraphile ${version('postgraphile')}`,
      `Mercurius ${version('mercurius')}`,
      `SOFA ${version('sofa-api')}`,
      `Pothos Prisma plugin ${version('@pothos/plugin-prisma', 'node_modules')}`,
    ],
    ...{ rounds, seconds, connections, users, manyUsers },
  }
}
