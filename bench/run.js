// Compares the gateway with its peers: seeds a database, starts all of them, and loads them in turn.
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { createCases, createKeptCases } from './cases.js'
import { drawChart } from './chart.js'
import { depthLines, measureDepth } from './depth.js'
import { documentsLines, measureDocuments } from './documents.js'
import { embeddedLines, measureEmbedded } from './embedded.js'
import { latencyLines, measureLatency } from './latency.js'
import { checkAnswers, connections, loadServer, median, paceServer, readLookups } from './measure.js'
import { readOptions } from './options.js'
import { startGateway, startProcess } from './peer.js'
import { writeResults } from './results.js'
import { seedDatabase } from './seed.js'
import { openServer } from './server.js'
import { measureStream } from './stream.js'

const usage = `npm run bench -- [--quick] [--try] [--only CASES] [--rounds N] [--seconds N] [--no-write]

  --quick     fewer users, fewer and shorter rounds: a few minutes
  --only      some of the cases abcdefghijklmnoqrst
  --no-write  print the results and do not write bench/RESULTS.md and docs/performance.svg
  DATABASE_URL names a PostgreSQL server, as a user who may create databases. Without it one is started.
`
const defaults = { quick: false, only: 'abcdefghijklmnoqrst', rounds: undefined, seconds: undefined, 'no-write': false }
const options = readOptions(usage, defaults, { rounds: '1', seconds: '0' })
const rounds = Number(options.rounds ?? (options.quick ? 3 : 5))
const seconds = Number(options.seconds ?? (options.quick ? 1 : 2))
/** How many rows there are. */
const { users, tenants, manyUsers, sizes, documents } = options.try
  ? { users: 200, tenants: 2, manyUsers: 100, sizes: [1_000], documents: 100 }
  : options.quick
    ? { users: 5_000, tenants: 10, manyUsers: 20_000, sizes: [1_000, 10_000, 100_000], documents: 20_000 }
    : { users: 20_000, tenants: 10, manyUsers: 100_000, sizes: [1_000, 10_000, 100_000, 1_000_000], documents: 20_000 }
const log = (text) => process.stderr.write(`${text}\n`)

const peers = {
  limit: 'peers/limit.js',
  postgraphile: 'peers/postgraphile.js',
  mercurius: 'peers/mercurius.js',
  'mercurius-alike': 'peers/mercurius.js',
  'postgraphile-alike': 'peers/postgraphile-alike.js',
  relation: 'peers/relation.ts',
  sofa: 'peers/sofa.ts',
}

/** Those that the gateway is compared with where it may keep responses. `gateway-reads` is one that keeps none. */
const peersOfKept = ['gateway-reads', 'limit', 'mercurius-alike', 'postgraphile-alike', 'sofa']

const server = await openServer()
const url = await server.createDatabase()
const servers = {}
try {
  const seeded = await seedDatabase(url, { users, tenants, manyUsers, log })
  const measured = {}
  // What was measured before a failure is printed.
  const failure = await measureAll(seeded, measured).catch((error) => error)
  const explanation = readFileSync(path.join(import.meta.dirname, 'where-the-time-goes.md'), 'utf8')
  const report = `${writeResults(measured, await describeRun())}\n${explanation}`
  process.stdout.write(report)
  if (failure) throw failure
  if (!options['no-write'] && !options.try) {
    writeFileSync(path.join(import.meta.dirname, 'RESULTS.md'), report)
    writeFileSync(path.join(import.meta.dirname, '../docs/performance.svg'), drawChart(measured))
  }
} finally {
  stopServers()
  await server.remove()
}

async function measureAll(seeded, measured) {
  if (/[a-kmo]/.test(options.only)) await startServers(createStart(seeded, 14_310), Object.keys(peers))
  for (const [letter, { title, ...asks }] of Object.entries(createCases(seeded))) {
    if (!options.only.includes(letter)) continue
    const key = letter === 'g' ? seeded.keys.small : seeded.keys.tenant
    for (const [name, one] of Object.entries(servers)) if (name === 'gateway' || name.endsWith('-alike')) one.key = key
    await checkAnswers(`(${letter})`, asks, servers)
    const runs = await measureInterleaved(asks, 1)
    measured[letter] = { title, runs, paced: asks.limit && (await measurePaced(asks, runs)) }
    log(`measured (${letter}) ${title}`)
  }
  if (options.only.includes('j')) {
    const { port, child } = servers.gateway
    const stream = { port, pid: child.pid, key: seeded.keys.many, url, many: seeded.many, users: manyUsers, rounds }
    measured.j = { title: `GET /users of ${manyUsers} users`, stream: await measureStream(stream) }
  }
  if (options.only.includes('k')) {
    const depth = await measureDepth({ port: servers.gateway.port, url, sizes, log })
    measured.k = {
      title: 'a page of 20 users, by the size of the tenant and the depth of the page',
      table: depthLines(depth),
    }
  }
  if (options.only.includes('o')) {
    const names = ['gateway', 'mercurius', 'postgraphile']
    const rows = await measureDocuments({ servers, names, documents, userId: seeded.userId })
    measured.o = {
      title: `memory after ${documents.toLocaleString('en')} distinct documents`,
      table: documentsLines(rows),
    }
  }
  // PostgreSQL has connections for these servers or for the next ones.
  stopServers()
  const cases = createCases(seeded)
  const keptCases = Object.entries(createKeptCases(cases, seeded)).filter(([letter]) =>
    options.only.includes(letter[0]),
  )
  if (keptCases.length > 0) {
    await startServers(createStart(seeded, 14_370, ''), peersOfKept)
    for (const one of Object.values(servers)) one.key = seeded.keys.tenant
    for (const [letter, { title, ...asks }] of keptCases) {
      await checkAnswers(`(${letter})`, asks, servers)
      const before = await readLookups(servers.gateway)
      const runs = await measureInterleaved(asks, options.quick ? 2 : 5)
      const after = await readLookups(servers.gateway)
      const kept = { hits: after.hits - before.hits, lookups: after.lookups - before.lookups }
      measured[letter] = { title, runs, kept }
      log(`measured (${letter}) ${title}`)
    }
    stopServers()
  }
  if (options.only.includes('l')) {
    const key = seeded.keys.tenant
    const rows = await measureLatency({ url, asks: cases.a, key, start: createStart(seeded, 14_330), rounds, seconds })
    measured.l = { title: 'case (a) with PostgreSQL 1 ms away', table: latencyLines(rows) }
  }
  if (options.only.includes('n')) {
    const asks = { a: cases.a.gateway, h: cases.h.gateway }
    const rows = await measureEmbedded({ asks, users: Math.min(users, 2_000), port: 14_350, rounds, seconds })
    measured.n = { title: 'the embedded database: cases (a) and (h)', table: embeddedLines(rows) }
  }
}

async function startServers(start, names) {
  for (const name of ['gateway', ...names]) {
    servers[name] = await start(name, url)
    log(`started ${name}`)
  }
}

function stopServers() {
  for (const [name, { child }] of Object.entries(servers)) {
    child.kill('SIGKILL')
    delete servers[name]
  }
}

/**
 * Returns a function that starts a server on a database, each on the next port.
 *
 * @param cacheMib `RESPONSE_CACHE_MIB` of the server `gateway`
 */
function createStart({ keys: _, userIds: __, ...seeded }, firstPort, cacheMib = '0') {
  const gateways = { gateway: cacheMib, 'gateway-reads': '0' }
  let port = firstPort - 1
  return async (name, databaseUrl) => {
    port += 1
    if (name in gateways) {
      return { port, child: await startGateway(name, { url: databaseUrl, port, cacheMib: gateways[name] }) }
    }
    const env = {
      DATABASE_URL: databaseUrl,
      PORT: String(port),
      GRAPHILE_ENV: 'production',
      SEEDED: JSON.stringify(seeded),
    }
    if (name.endsWith('-alike')) env.ALIKE = 'on'
    return { port, child: await startProcess(name, [peers[name]], env) }
  }
}

/** Loads the servers in turn. Each round begins with another one, so that each follows each. */
async function measureInterleaved(asks, warmUpSeconds) {
  const names = Object.keys(asks)
  const runs = Object.fromEntries(names.map((name) => [name, []]))
  for (const name of names) if (!options.try) await loadServer(servers[name], asks[name], warmUpSeconds)
  for (let round = 0; round < rounds; round += 1) {
    for (let index = 0; index < names.length; index += 1) {
      const name = names[(index + round) % names.length]
      runs[name].push(await loadServer(servers[name], asks[name], seconds))
    }
  }
  return runs
}

/** Latencies at 70 % of the measured rate. The limit is measured too: it shows what the machine itself allows. */
async function measurePaced(asks, runs) {
  const paced = { gateway: [], limit: [] }
  for (let round = 0; round < Math.min(rounds, 3); round += 1) {
    for (const name of ['gateway', 'limit']) {
      const rate = 0.7 * median(runs[name].map(({ perSecond }) => perSecond))
      paced[name].push({ rate, ...(await paceServer(servers[name], asks[name], rate, Math.min(seconds || 0.1, 1.5))) })
    }
  }
  return paced
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
    rounds,
    seconds,
    connections,
    users,
    manyUsers,
  }
}
