// Compares this gateway with an earlier commit, plain tables with partitioned ones, or a gateway that keeps no
// responses with one that does: the same cases, interleaved, each on its own copy of one database.
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createCases } from './cases.js'
import { createJobsCase } from './jobs.js'
import { checkAnswers, loadInTurn, median } from './measure.js'
import { readOptions } from './options.js'
import { fusionOn, projectRoot, startGateway } from './peer.js'
import { seedDatabase } from './seed.js'
import { openServer } from './server.js'
import { measureStream } from './stream.js'

const usage = `npm run bench:versions -- COMMIT [--try] [--only CASES] [--starts N] [--rounds N] [--seconds N]
npm run bench:versions -- --partitions N [--try] [--only CASES] [--starts N] [--rounds N] [--seconds N]
npm run bench:versions -- --memory [--try] [--only CASES] [--starts N] [--rounds N] [--seconds N]

  COMMIT        the earlier version, such as the last release, which is installed in a temporary folder
  --partitions  compare plain tables with tables of N partitions instead
  --memory      compare RESPONSE_CACHE_MIB=0 with the default instead: what first reads and writes pay for the memory
                of responses. Each request of the cases abcdefg has a variable of its own, so none is repeated
  --only        some of the cases abcdefghijp
  --starts      how often both are started for a case: what V8 compiles differs from start to start
  --rounds      how often both are measured after each start, when their CPU per request is steady
  --seconds     how long each is measured in a round, in windows of 150 ms in turn
  DATABASE_URL names a PostgreSQL server, as a user who may create databases. Without it one is started.
`
const defaults = { only: 'abcdefghijp', starts: '3', rounds: '5', seconds: '2', partitions: undefined, memory: false }
const tried = { starts: '1', rounds: '1', seconds: '0' }
const { partitions, memory, positionals, ...options } = readOptions(usage, defaults, tried, true)
const [commit] = positionals
if ([commit, partitions, memory].filter(Boolean).length !== 1) {
  process.stdout.write(usage)
  process.exit(2)
}
const starts = Number(options.starts)
const rounds = Number(options.rounds)
const seconds = Number(options.seconds)
const people = options.try ? { users: 200, tenants: 2, manyUsers: 100 } : { users: 5_000, manyUsers: 20_000 }
const { manyUsers } = people
const log = (text) => process.stderr.write(`${text}\n`)

const server = await openServer()
const folder = mkdtempSync(path.join(tmpdir(), 'fusion-before-'))
const root = commit ? folder : projectRoot
const titles = commit
  ? [commit, 'now']
  : memory
    ? ['RESPONSE_CACHE_MIB=0', 'the default']
    : ['plain tables', `${partitions} partitions`]
const letters = memory ? 'abcdefg' : 'abcdefghi'
const versions = {}
try {
  if (commit) {
    log(`installing ${commit}`)
    execFileSync('sh', ['-c', `git archive ${commit} | tar -x -C '${folder}'`], { cwd: projectRoot })
    execFileSync('npm', ['ci', '--no-fund', '--no-audit'], { cwd: folder, stdio: 'ignore' })
  }
  const beforeUrl = await server.createDatabase()
  const seeded = await seedDatabase(beforeUrl, { root, ...people, log })
  const nowUrl = await server.createDatabase(beforeUrl)
  await fusionOn(nowUrl)('migrate', 'deploy')
  if (partitions) await fusionOn(nowUrl)('migrate', 'partition', '--modulus', partitions)
  versions.before = { name: 'before', root, url: beforeUrl, port: 14_330 }
  versions.now = { name: 'now', root: projectRoot, url: nowUrl, port: 14_331, cacheMib: memory ? '' : '0' }
  await start()
  const cases = createCases(seeded)
  const rows = []
  for (const letter of letters) {
    if (!options.only.includes(letter)) continue
    const { title, gateway } = cases[letter]
    const ask = memory ? withOwnVariable(gateway) : gateway
    for (const version of Object.values(versions)) version.key = letter === 'g' ? seeded.keys.small : seeded.keys.tenant
    await checkAnswers(title, { before: ask, now: ask }, versions)
    const measure = () => loadInTurn(versions, ask, seconds)
    rows.push(row(`(${letter}) ${title}`, await repeat(measure, () => warmUp(measure)), 'requests/s'))
  }
  if (options.only.includes('j') && !memory) {
    const measure = async (name) => {
      const { port, child, url } = versions[name]
      const stream = { port, pid: child.pid, key: seeded.keys.many, url, many: seeded.many, users: manyUsers }
      const [{ usersPerSecond }] = await measureStream({ ...stream, rounds: 1 })
      return { perSecond: usersPerSecond }
    }
    rows.push(row(`(j) GET /users of ${manyUsers} users`, await repeat(oneAfterTheOther(measure)), 'users/s'))
  }
  if (options.only.includes('p') && !memory) {
    for (const [title, measure] of createJobsCase(versions, seeded.keys.tenant))
      rows.push(row(title, await repeat(oneAfterTheOther(measure)), 'jobs/s'))
  }
  process.stdout.write(
    [
      `Medians of ${starts} starts with ${rounds} rounds, in which each had ${seconds} s in windows in turn; the ratios are medians of the rounds' ratios.`,
      '',
      `| case | ${titles.join(' | ')} | ratio | ratio of CPU |`,
      '|---|---|---|---|---|',
      ...rows,
      '',
    ].join('\n'),
  )
} finally {
  await stop()
  await server.remove()
  rmSync(folder, { recursive: true, force: true })
}

/** A request that is another one each time. The gateway ignores a variable that the document does not declare. */
function withOwnVariable({ body, ...ask }) {
  return { ...ask, body: { ...body, variables: { ...body.variables, request: '[<id>]' } } }
}

async function start() {
  for (const [name, version] of Object.entries(versions)) version.child = await startGateway(name, version)
}

async function stop() {
  for (const { child } of Object.values(versions)) {
    if (!child || child.exitCode !== null || child.signalCode !== null) continue
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
}

/**
 * Measures both versions some times after each of their starts.
 *
 * @param measureBoth measures them once
 * @param beforehand what comes after a start and does not count
 */
async function repeat(measureBoth, beforehand = () => measureBoth(0)) {
  const runs = []
  for (let number = 0; number < starts; number += 1) {
    await stop()
    await start()
    if (!options.try) await beforehand()
    for (let round = 0; round < rounds; round += 1) runs.push(await measureBoth(round))
  }
  return runs
}

/** Measures until the CPU per request of both is steady: V8 takes more than ten seconds to optimise a gateway. */
async function warmUp(measureBoth) {
  const runs = []
  const isSteady = (name) => {
    const sum = (from, to) => runs.slice(from, to).reduce((cpu, run) => cpu + run[name].serverCpu, 0)
    return Math.abs(sum(-3) / sum(-6, -3) - 1) < 0.02
  }
  do runs.push(await measureBoth())
  while (runs.length < 6 || (runs.length < 20 && !(isSteady('now') && isSteady('before'))))
}

/** A round begins with the other version than the one before. */
function oneAfterTheOther(measure) {
  return async (round) => {
    const measured = {}
    for (const name of round % 2 === 0 ? ['now', 'before'] : ['before', 'now']) measured[name] = await measure(name)
    return measured
  }
}

function row(title, runs, unit) {
  const hasCpu = runs[0].now.serverCpu !== undefined
  const medianOf = (name, key) => median(runs.map((run) => run[name][key]))
  const show = (name) =>
    `${Math.round(medianOf(name, 'perSecond'))} ${unit}${hasCpu ? `, ${medianOf(name, 'serverCpu').toFixed(2)} ms` : ''}`
  const ratio = (key) => median(runs.map(({ now, before }) => now[key] / before[key])).toFixed(2)
  const text = `| ${title} | ${show('before')} | ${show('now')} | ${ratio('perSecond')} | ${hasCpu ? ratio('serverCpu') : ''} |`
  log(text)
  return text
}
