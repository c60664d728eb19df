import { execFile, execFileSync } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'

/** The folder of PostgreSQL's programs on Debian, with a folder for each version. */
const debian = '/usr/lib/postgresql'
const newest = existsSync(debian) ? readdirSync(debian).sort((one, other) => Number(other) - Number(one))[0] : undefined
const programs = newest && path.join(debian, newest, 'bin')

/** Whether this machine has the programs to create a PostgreSQL server. */
export const canCreateClusters = programs !== undefined

/** A PostgreSQL server that a test can stop and start. */
export interface Cluster {
  /** The URL of its database. */
  readonly url: string
  start(): Promise<void>
  /** `immediate` is like a crash: the server completes nothing. */
  stop(mode: 'fast' | 'immediate'): Promise<void>
  /** Suspends all its processes, like a machine that hangs. */
  freeze(): void
  thaw(): void
  /** Reads the log of the server. */
  readLog(): string
  /** Runs a shell script as the user who owns the data, with PostgreSQL's programs, in a folder that is removed with the server. */
  runScript(script: string, env: Readonly<Record<string, string>>): Promise<void>
  /** Creates and starts a replica of this server with pg_basebackup. */
  createReplica(): Promise<Cluster>
  /** Stops the server and removes its files. */
  remove(): Promise<void>
}

/**
 * Creates and starts a server.
 *
 * @param settings of the server, in addition to those that all test servers have
 */
export function createCluster(settings: Readonly<Record<string, string>> = {}): Promise<Cluster> {
  return startCluster(settings, async (run, data) => {
    const initialized = runFolder && path.join(runFolder, 'initdb')
    if (initialized && existsSync(initialized)) return copy(initialized, data)
    await run(
      'initdb',
      '-D',
      data,
      '-U',
      'postgres',
      '-A',
      'scram-sha-256',
      `--pwfile=${writePassword(data)}`,
      '--no-sync',
    )
    if (!initialized) return
    // Another test may copy the folder as soon as it exists, or create it at the same time.
    const unfinished = mkdtempSync(`${initialized}-`)
    await copy(`${data}/.`, unfinished)
    await rename(unfinished, initialized).catch(() => undefined)
  })
}

/** The password of the user `postgres`. It has every character that means something in a URL, and a letter outside ASCII. */
const password = "p@ss:w/r%d#'ß"

/** Writes the password next to the folder of the data, for initdb. */
function writePassword(data: string): string {
  const file = path.join(path.dirname(data), 'password')
  writeFileSync(file, password)
  return file
}

/** The folder of a test run, which keeps the output of initdb. Copying it takes a tenth of the time of initdb. */
const runFolder = process.env['TEST_RUN_FOLDER']

/** Copies a folder with its owners. */
async function copy(from: string, to: string): Promise<void> {
  await promisify(execFile)('cp', ['-a', from, to])
}

/** Runs one of PostgreSQL's programs, as the user who owns the data. */
type Run = (program: string, ...args: string[]) => Promise<void>

async function startCluster(
  settings: Readonly<Record<string, string>>,
  initialize: (run: Run, data: string) => Promise<void>,
): Promise<Cluster> {
  const folder = mkdtempSync(path.join(tmpdir(), 'fusion-cluster-'))
  const data = path.join(folder, 'data')
  const port = await freePort()
  // PostgreSQL does not run as root.
  const isRoot = process.getuid?.() === 0
  if (isRoot) chownSync(folder, idOf('-u'), idOf('-g'))

  async function runAsOwner(args: readonly string[], env: NodeJS.ProcessEnv = process.env): Promise<void> {
    const [command, ...rest] = isRoot ? ['runuser', '-u', 'postgres', '--', ...args] : args
    await promisify(execFile)(command as string, rest, { cwd: folder, env })
  }
  const run: Run = (program, ...args) => runAsOwner([path.join(programs ?? '', program), ...args])

  const allSettings = { listen_addresses: '127.0.0.1', fsync: 'off', ...settings }
  const flags = Object.entries(allSettings).map(([name, value]) => `-c ${name}=${value}`)
  const options = [`-p ${port} -k ${folder}`, ...flags].join(' ')
  const start = () => run('pg_ctl', 'start', '-w', '-s', '-D', data, '-l', path.join(folder, 'log'), '-o', options)
  /** Signals the first process of the server and its children. */
  function signal(name: NodeJS.Signals): void {
    const file = path.join(data, 'postmaster.pid')
    if (!existsSync(file)) return
    const first = Number(readFileSync(file, 'utf8').split('\n')[0])
    for (const pid of [first, ...childrenOf(first)]) {
      try {
        process.kill(pid, name)
      } catch {
        // The process has exited meanwhile.
      }
    }
  }

  await initialize(run, data)
  await start()
  const url = `postgresql://postgres:${encodeURIComponent(password)}@127.0.0.1:${port}/postgres`
  return {
    url,
    start,
    createReplica: () =>
      startCluster(settings, (program, folderOfReplica) =>
        program('pg_basebackup', '-D', folderOfReplica, '-d', url, '-R', '-c', 'fast', '--no-sync'),
      ),
    stop: (mode) => run('pg_ctl', 'stop', '-w', '-s', '-D', data, '-m', mode),
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    runScript: (script, env) =>
      runAsOwner(['sh', '-ec', script], { ...process.env, PATH: `${programs}:${process.env['PATH']}`, ...env }),
    readLog: () => readFileSync(path.join(folder, 'log'), 'utf8'),
    async remove() {
      signal('SIGCONT')
      await run('pg_ctl', 'stop', '-w', '-s', '-D', data, '-m', 'immediate').catch(() => undefined)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function childrenOf(parent: number): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.map(Number).filter((pid) => {
    try {
      // `pid (name) state parent …`; the name can contain any character.
      return Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').pop()?.split(' ')[1]) === parent
    } catch {
      return false
    }
  })
}

function idOf(flag: '-u' | '-g'): number {
  return Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
}

/** Finds a free port. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}
