import { execFile, execFileSync, spawn } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { scripts } from '../../tools/scripts.ts'
import { projectRoot, readPage } from '../support/docs.ts'
import { adminUrl, hasServer } from '../support/postgresql.ts'

/** Each script of package.json, and each name that one takes only if it is named: `bench -- webhooks`. */
const commands = [
  ...Object.keys(packageJson.scripts),
  ...Object.entries(scripts).flatMap(([script, { byName }]) =>
    Object.keys(byName).map((name) => `${script} -- ${name}`),
  ),
]

/** What CI and `test:all` run, in which lists of arguments become text. */
const others = ['.ci/run', 'test/all.ts', 'test/support/long-suites.ts', 'test/docs/release.embedded.test.ts']
  .map((file) => readPage(file).replace(/[',[\]]/g, ''))
  .join(' ')
  .replaceAll('suite: ', 'suite -- ')

interface Trial {
  /** The options with which the command ends soonest. */
  readonly args?: readonly string[]
  /** What its output has if it works. */
  readonly prints?: readonly RegExp[]
}

const peers = ['gateway', 'limit', 'postgraphile', 'mercurius', 'mercurius-alike', 'postgraphile-alike', 'relation']

/** `| gateway | 12 | …`, in the table of a case. */
const row = (letter: string, start: string) => new RegExp(`^## \\(${letter}\\)[^#]*^\\| ${start} \\| [\\d.]+`, 'm')

/** The first creates the database client, which the others need. */
const trials: Record<string, Trial> = {
  postinstall: { prints: [/Generated Prisma Client/] },
  fusion: { args: ['--version'], prints: [/^\d+\.\d+\.\d+/m] },
  schema: {},
  migration: { prints: [/The migrations match schema.prisma/] },
  'suite -- mutants': { args: ['src/cli.ts'], prints: [/^0 mutants, 0 survivors/m] },
  'suite -- distributed': { prints: [/^Skipped: TEST_CITUS_URL is not set/m] },
  // test/memory/system.long.postgres.test.ts has a run of it.
  'suite -- memory': { args: ['--help'], prints: [/--reads/] },
  'suite -- soak': { args: ['--help'], prints: [/--minutes/] },
  format: { prints: [/Checked \d+ files/] },
  bench: {
    prints: [
      ...peers.map((peer) => row('a', peer)),
      ...peers.map((peer) => row('g', peer)),
      ...['gateway', 'sofa', 'limit'].map((peer) => row('h', peer)),
      ...['gateway', 'sofa', 'limit'].map((peer) => row('i', peer)),
      ...['b', 'c', 'd', 'e', 'f', 'm'].map((letter) => row(letter, 'postgraphile')),
      /^## \(j\)[^#]*^\| first byte \| \d+ ms/m,
      /^## \(k\)[^#]*^\| 1,000 \| [\d.]+ ms/m,
      row('l', '16 \\| postgraphile'),
      row('n', '\\(h\\)'),
      row('o', 'postgraphile'),
      ...['q', 'r', 's'].map((letter) => row(letter, 'postgraphile-alike')),
      row('t', 'sofa'),
      row('t, If-None-Match', 'limit'),
      /^[1-9]\d* % of the gateway's responses to reads came from memory/m,
    ],
  },
  'bench -- bulk': { prints: [/^\| CPU of both, ms \| [\d.]+ \| [\d.]+/m] },
  'bench -- compression': { prints: [/^\| 1 MiB \| br \| \d+/m] },
  'bench -- events': { prints: [/^\| import records \| \d+ \| \d+/m] },
  'bench -- live': { prints: [/^\| 20 followers of the same page/m] },
  'bench -- followers': { prints: [/^20 followers, [1-9]/m] },
  'bench -- growth': {
    prints: [/^\| the first page \| [\d.]+ ms/m, /^\| the index user_folded_search_idx \| [\d.]+ ms/m],
  },
  'bench -- memory': { prints: [/^\| after a full garbage collection \| \d+/m] },
  'bench -- neighbours': { args: ['--only', 'one node'], prints: [/^\| one node 450 times \| \d+/m] },
  'bench -- processes': { args: ['--only', 'fh'], prints: [/^\| \(h\) .* requests\/s/m] },
  'bench -- history': { prints: [/^\| 100 \| 5,200 \| \d+ MiB/m] },
  'bench -- searches': { prints: [/^\| 1,000 \| statistics \| [\d.]+/m] },
  'bench -- start': { prints: [/^\| fusion serve in an empty folder until \/ready \| [\d.]+ s/m] },
  'bench -- tenants': { prints: [/^\| fail [1-9]\d* of \d+ expired leases \| 100/m] },
  'bench -- versions': {
    args: ['--partitions', '4', '--only', 'fjp'],
    prints: [/^\| \(p\) 1000 jobs of three types/m],
  },
  'bench -- webhooks': { prints: [/^\| good \| 10 \| 10 \|/m] },
}

// The scripts write files, so they run in a copy. They do not change the project.
const folder = mkdtempSync(path.join(tmpdir(), 'fusion-scripts-'))
const copy = path.join(folder, 'copy')
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe.skipIf(!hasServer)('package.json', () => {
  beforeAll(() => {
    const git = ['ls-files', '-co', '--exclude-standard']
    const files = execFileSync('git', git, { cwd: projectRoot, encoding: 'utf8' }).split('\n').filter(Boolean)
    for (const file of files) cpSync(path.join(projectRoot, file), path.join(copy, file))
    execFileSync('git', ['init', '--quiet'], { cwd: copy })
    symlinkSync(path.join(projectRoot, 'node_modules'), path.join(copy, 'node_modules'))
  })

  it('has a gateway that starts without development packages', { timeout: 600_000 }, async () => {
    const clone = path.join(folder, 'clone')
    execFileSync('git', ['clone', '--quiet', projectRoot, clone])
    const env = {
      ...process.env,
      NODE_ENV: '',
      NODE_OPTIONS: '',
      DATABASE_URL: '',
      DATA_DIR: path.join(folder, 'data'),
      PORT: '0',
    }
    const run = promisify(execFile)
    await run('npm', ['ci', '--omit=dev', '--no-fund', '--no-audit'], { cwd: clone, env, maxBuffer: 1e8 })
    const gateway = spawn('npm', ['start'], { cwd: clone, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    onTestFinished(() => void process.kill(-(gateway.pid ?? 0), 'SIGKILL'))
    let output = ''
    const read = (chunk: Buffer) => {
      output += chunk.toString()
    }
    for (const stream of [gateway.stdout, gateway.stderr]) stream.on('data', read)
    await expect.poll(() => output, { timeout: 60_000 }).toContain('Server listening at')

    // As after `npm ci --ignore-scripts`.
    rmSync(path.join(clone, 'packages/database/src/generated'), { recursive: true })
    const failure = await run(process.execPath, ['bin/fusion.js', 'serve'], { cwd: clone, env }).catch((error) => error)
    expect(failure).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^The database client is not generated\. .*\n$/),
    })
  })

  it('has scripts that are run here, by CI or by test:all', () => {
    const isRun = (command: string) => command in trials || new RegExp(`\\b${command}(?![\\w:])`).test(others)
    expect(commands.filter((command) => !isRun(command))).toEqual([])
    expect(Object.keys(trials).filter((command) => !commands.includes(command))).toEqual([])
  })

  // The benchmark with all its peers takes the longest.
  it.each(Object.entries(trials))(
    'has the script %s, which works',
    { timeout: 600_000 },
    async (command, { args = [], prints = [] }) => {
      const url = new URL(adminUrl())
      url.search = ''
      // Not the settings of this run, such as what records its statements.
      const own = Object.entries(process.env).filter(([key]) => !/^(TEST_|NODE_ENV$|NODE_OPTIONS$|TZ$)/.test(key))
      const env = { ...Object.fromEntries(own), DATABASE_URL: url.href }
      const [script = '', ...name] = command.split(' -- ')
      const tries = script === 'bench' ? ['--try'] : []
      const { stdout } = await promisify(execFile)('npm', ['run', script, '--', ...name, ...tries, ...args], {
        cwd: copy,
        env,
        maxBuffer: 64 * 1024 * 1024,
      })
      for (const text of prints) expect(stdout).toMatch(text)
    },
  )
})
