import { execFile, execFileSync } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'

/** Where Debian keeps PostgreSQL's programs; the newest of them. */
const debian = '/usr/lib/postgresql'
const newest = existsSync(debian) ? readdirSync(debian).sort((one, other) => Number(other) - Number(one))[0] : undefined
const programs = newest && path.join(debian, newest, 'bin')

/** Whether this machine has the programs for a PostgreSQL server of a test's own. */
export const canMakeClusters = programs !== undefined

/** A PostgreSQL server of a test's own, that it may stop and start. */
export interface Cluster {
  /** The URL of its database. */
  readonly url: string
  start(): Promise<void>
  /** `immediate` is as a crash: nothing is finished. */
  stop(mode: 'fast' | 'immediate'): Promise<void>
  /** Keeps every process of it from running, as a machine that hangs does. */
  freeze(): void
  thaw(): void
  /** What the server has written to its log. */
  readLog(): string
  /** Makes a server that follows this one, with pg_basebackup, and starts it. */
  createReplica(): Promise<Cluster>
  /** Stops it and takes it away. */
  remove(): Promise<void>
}

/**
 * Makes a server and starts it.
 *
 * @param settings of the server, besides those that make it small and quick
 */
export function createCluster(settings: Readonly<Record<string, string>> = {}): Promise<Cluster> {
  return makeCluster(settings, (run, data) => run('initdb', '-D', data, '-U', 'postgres', '-A', 'trust', '--no-sync'))
}

/** Runs one of PostgreSQL's programs, as the user who owns the data. */
type Run = (program: string, ...args: string[]) => Promise<void>

async function makeCluster(
  settings: Readonly<Record<string, string>>,
  fill: (run: Run, data: string) => Promise<void>,
): Promise<Cluster> {
  const folder = mkdtempSync(path.join(tmpdir(), 'fusion-cluster-'))
  const data = path.join(folder, 'data')
  const port = await freePort()
  // PostgreSQL does not run as root.
  const isRoot = process.getuid?.() === 0
  if (isRoot) chownSync(folder, idOf('-u'), idOf('-g'))

  const run: Run = async (program, ...args) => {
    const file = path.join(programs ?? '', program)
    const [command, ...rest] = isRoot ? ['runuser', '-u', 'postgres', '--', file, ...args] : [file, ...args]
    await promisify(execFile)(command as string, rest, { cwd: folder })
  }

  const all = { listen_addresses: '127.0.0.1', fsync: 'off', ...settings }
  const flags = Object.entries(all).map(([name, value]) => `-c ${name}=${value}`)
  const options = [`-p ${port} -k ${folder}`, ...flags].join(' ')
  const start = () => run('pg_ctl', 'start', '-w', '-s', '-D', data, '-l', path.join(folder, 'log'), '-o', options)
  /** Signals the server's first process and those that it has made. */
  function signal(name: NodeJS.Signals): void {
    const file = path.join(data, 'postmaster.pid')
    if (!existsSync(file)) return
    const first = Number(readFileSync(file, 'utf8').split('\n')[0])
    for (const pid of [first, ...childrenOf(first)]) {
      try {
        process.kill(pid, name)
      } catch {
        // It has ended meanwhile.
      }
    }
  }

  await fill(run, data)
  await start()
  const url = `postgresql://postgres@127.0.0.1:${port}/postgres`
  return {
    url,
    start,
    createReplica: () =>
      makeCluster(settings, (program, folderOfReplica) =>
        program('pg_basebackup', '-D', folderOfReplica, '-d', url, '-R', '-c', 'fast', '--no-sync'),
      ),
    stop: (mode) => run('pg_ctl', 'stop', '-w', '-s', '-D', data, '-m', mode),
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
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
      // `pid (name) state parent …`; the name may hold anything.
      return Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').pop()?.split(' ')[1]) === parent
    } catch {
      return false
    }
  })
}

function idOf(flag: '-u' | '-g'): number {
  return Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
}

/** A port that nobody listens on. */
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
