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

/** V8 takes about this long to optimise a gateway. */
const maxWarmUpMilliseconds = 10_000

const usage = `npm run bench -- versions COMMIT [--try] [--only CASES] [--starts N] [--rounds N] [--seconds N]
npm run bench -- versions --partitions N [--try] [--only CASES] [--starts N] [--rounds N] [--seconds N]
npm run bench -- versions --memory [--try] [--only CASES] [--starts N] [--rounds N] [--seconds N]

  COMMIT        the earlier version, such as the last release, which is installed in a temporary folder
  --partitions  compare plain tables with tables of N partitions instead
  --memory      compare RESPONSE_CACHE_MIB=0 with the default instead: what first reads and writes pay for the memory
                of responses. Each request of the cases abcdefg has a variable of its own, so none is repeated
  --only        some of the cases abcdefghijp
  --starts      how often both are started, for all cases: what V8 compiles differs from start to start
  --rounds      how often both are measured in a case after each start, when their CPU per request is steady, or after
                ten seconds
  --seconds     how long each is measured in a round, in windows of 150 ms in turn
  It takes about ten minutes, says what it does as it goes, and prints what it has when it is interrupted.
  DATABASE_URL names a PostgreSQL server, as a user who may create databases. Without it one is started.
`
const defaults = { only: 'abcdefghijp', starts: '2', rounds: '3', seconds: '2', partitions: undefined, memory: false }
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
/** The measurements so far, by the titles of their cases. */
const measured = new Map()
let isInterrupted = false
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    isInterrupted = true
    process.exitCode = 130
    // What is measured now fails.
    for (const { child } of Object.values(versions)) child?.kill('SIGKILL')
  })
}
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
  const cases = createMeasurements(seeded)
  for (let number = 1; number <= starts; number += 1) {
    log(`start ${number} of ${starts}`)
    await stop()
    await start()
    for (const measurement of cases) await measureCase(measurement, number === 1)
  }
} catch (error) {
  if (!isInterrupted) throw error
} finally {
  print()
  await stop()
  await server.remove()
  rmSync(folder, { recursive: true, force: true })
}

/** The measurements of the cases that were chosen. */
function createMeasurements(seeded) {
  const cases = createCases(seeded)
  const chosen = Array.from(letters, (letter) => [letter, cases[letter]]).filter(([letter]) =>
    options.only.includes(letter),
  )
  const loads = chosen.map(([letter, { title, gateway }]) => {
    const ask = memory ? withOwnVariable(gateway) : gateway
    const key = letter === 'g' ? seeded.keys.small : seeded.keys.tenant
    const servers = () => ({ before: { ...versions.before, key }, now: { ...versions.now, key } })
    return {
      title: `(${letter}) ${title}`,
      unit: 'requests/s',
      check: () => checkAnswers(title, { before: ask, now: ask }, servers()),
      measure: () => loadInTurn(servers(), ask, seconds),
    }
  })
  if (memory) return loads
  const stream = async (name) => {
    const { port, child, url } = versions[name]
    const of = { port, pid: child.pid, key: seeded.keys.many, url, many: seeded.many, users: manyUsers }
    const [{ usersPerSecond }] = await measureStream({ ...of, rounds: 1 })
    return { perSecond: usersPerSecond }
  }
  const streamed = { title: `(j) GET /users of ${manyUsers} users`, unit: 'users/s', measure: oneAfterTheOther(stream) }
  const jobs = createJobsCase(versions, seeded.keys.tenant).map(([title, measure]) => ({
    title,
    unit: 'jobs/s',
    measure: oneAfterTheOther(measure),
  }))
  return [...loads, ...(options.only.includes('j') ? [streamed] : []), ...(options.only.includes('p') ? jobs : [])]
}

/** Measures a case of both versions some times. */
async function measureCase({ title, unit, check, measure }, isFirst) {
  const begun = performance.now()
  if (isFirst) await check?.()
  if (!options.try) await warmUp(measure, check !== undefined)
  const runs = measured.get(title)?.runs ?? []
  measured.set(title, { unit, runs })
  for (let round = 0; round < rounds; round += 1) runs.push(await measure(round))
  log(`${row(title, measured.get(title))} ${((performance.now() - begun) / 1_000).toFixed(0)} s`)
}

/** Prints what was measured so far. */
function print() {
  process.stdout.write(
    [
      `Medians of up to ${starts} starts with ${rounds} rounds, in which each had ${seconds} s in windows in turn; the ratios are medians of the rounds' ratios.`,
      '',
      `| case | ${titles.join(' | ')} | ratio | ratio of CPU |`,
      '|---|---|---|---|---|',
      ...[...measured].filter(([, { runs }]) => runs.length > 0).map(([title, case_]) => row(title, case_)),
      '',
    ].join('\n'),
  )
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

/** Measures without keeping the results, until the CPU per request of both is steady. */
async function warmUp(measureBoth, hasCpu) {
  const runs = []
  const isSteady = (name) => {
    const [one, other] = runs.slice(-2).map((run) => run[name].serverCpu)
    return Math.abs(one / other - 1) < 0.02
  }
  const endsAt = performance.now() + maxWarmUpMilliseconds
  do runs.push(await measureBoth(runs.length))
  while (hasCpu && performance.now() < endsAt && (runs.length < 2 || !(isSteady('now') && isSteady('before'))))
}

/** A round begins with the other version than the one before. */
function oneAfterTheOther(measure) {
  return async (round) => {
    const measured = {}
    for (const name of round % 2 === 0 ? ['now', 'before'] : ['before', 'now']) measured[name] = await measure(name)
    return measured
  }
}

function row(title, { runs, unit }) {
  const hasCpu = runs[0].now.serverCpu !== undefined
  const medianOf = (name, key) => median(runs.map((run) => run[name][key]))
  const show = (name) =>
    `${Math.round(medianOf(name, 'perSecond'))} ${unit}${hasCpu ? `, ${medianOf(name, 'serverCpu').toFixed(2)} ms` : ''}`
  const ratio = (key) => median(runs.map(({ now, before }) => now[key] / before[key])).toFixed(2)
  return `| ${title} | ${show('before')} | ${show('now')} | ${ratio('perSecond')} | ${hasCpu ? ratio('serverCpu') : ''} |`
}
