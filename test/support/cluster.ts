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
  /** What the server has written to its log. */
  readLog(): string
  /** Stops it and takes it away. */
  remove(): Promise<void>
}

/**
 * Makes a server and starts it.
 *
 * @param settings of the server, besides those that make it small and quick
 */
export async function createCluster(settings: Readonly<Record<string, string>> = {}): Promise<Cluster> {
  const folder = mkdtempSync(path.join(tmpdir(), 'fusion-cluster-'))
  const data = path.join(folder, 'data')
  const port = await freePort()
  // PostgreSQL does not run as root.
  const isRoot = process.getuid?.() === 0
  if (isRoot) chownSync(folder, idOf('-u'), idOf('-g'))

  async function run(program: string, ...args: string[]): Promise<void> {
    const file = path.join(programs ?? '', program)
    const [command, ...rest] = isRoot ? ['runuser', '-u', 'postgres', '--', file, ...args] : [file, ...args]
    await promisify(execFile)(command as string, rest, { cwd: folder })
  }

  const all = { listen_addresses: '127.0.0.1', fsync: 'off', ...settings }
  const flags = Object.entries(all).map(([name, value]) => `-c ${name}=${value}`)
  const options = [`-p ${port} -k ${folder}`, ...flags].join(' ')
  const start = () => run('pg_ctl', 'start', '-w', '-s', '-D', data, '-l', path.join(folder, 'log'), '-o', options)
  await run('initdb', '-D', data, '-U', 'postgres', '-A', 'trust', '--no-sync')
  await start()
  return {
    url: `postgresql://postgres@127.0.0.1:${port}/postgres`,
    start,
    stop: (mode) => run('pg_ctl', 'stop', '-w', '-s', '-D', data, '-m', mode),
    readLog: () => readFileSync(path.join(folder, 'log'), 'utf8'),
    async remove() {
      await run('pg_ctl', 'stop', '-w', '-s', '-D', data, '-m', 'immediate').catch(() => undefined)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function idOf(flag: '-u' | '-g'): number {
  return Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}
