import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { appendFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'

/** The folder of PostgreSQL's programs on Debian, with a folder for each version. */
const debian = '/usr/lib/postgresql'
const newest = existsSync(debian) ? readdirSync(debian).sort((one, other) => Number(other) - Number(one))[0] : undefined
const programs = newest && path.join(debian, newest, 'bin')

/** Whether this machine can create certificates. */
const canCreateCertificates = spawnSync('openssl', ['version']).status === 0

/** Whether this machine has the programs to create a PostgreSQL server with a certificate. */
export const canCreateClusters = programs !== undefined && canCreateCertificates

/** A PostgreSQL server that a test can stop and start. It asks for passwords and TLS, as a user's server does. */
export interface Cluster {
  /** The URL of its database, for a role that may only read and write rows. Gateways and workers use it. */
  readonly url: string
  /** The same for the role that owns the database and is no superuser. Migrations use it. */
  readonly ownerUrl: string
  /** The same for a superuser. Only tests use it. */
  readonly adminUrl: string
  /** The certificate of the authority that signed the server's. */
  readonly authority: string
  start(): Promise<void>
  /** `immediate` is like a crash: the server completes nothing. */
  stop(mode: 'fast' | 'immediate'): Promise<void>
  /** Kills all its processes at once. */
  kill(): void
  /** Suspends all its processes, like a machine that hangs. */
  freeze(): void
  thaw(): void
  /** Reads the log of the server. */
  readLog(): string
  /**
   * Runs a shell script as the user who owns the data, with PostgreSQL's programs, in a folder that is removed with the
   * server.
   */
  runScript(script: string, env: Readonly<Record<string, string>>): Promise<void>
  /** Creates and starts a replica of this server with pg_basebackup. */
  createReplica(): Promise<Cluster>
  /** Takes a backup of this server, while it runs, with pg_basebackup, and starts it as a server of its own. */
  restoreBackup(): Promise<Cluster>
  /** Stops the server and removes its files. */
  remove(): Promise<void>
}

/**
 * Creates and starts a server.
 *
 * @param settings of the server, in addition to those that all test servers have
 */
export async function createCluster(settings: Readonly<Record<string, string>> = {}): Promise<Cluster> {
  return startCluster(settings, async (run, folder) => {
    const initialized = runFolder && path.join(runFolder, 'cluster')
    if (initialized && existsSync(initialized)) return copy(`${initialized}/.`, folder)
    await initialize(run, folder)
    if (!initialized) return
    // Another test may copy the folder as soon as it exists, or create it at the same time.
    const unfinished = mkdtempSync(`${initialized}-`)
    await copy(`${folder}/.`, unfinished)
    await rename(unfinished, initialized).catch(async () => {
      // The other one was first. Servers of one test have one authority: a gateway at one of them connects to all.
      rmSync(path.join(folder, 'data'), { recursive: true })
      await copy(`${initialized}/.`, folder)
    })
  })
}

/** The folder of a test run, which keeps an initialized server. Copying it takes a tenth of the time. */
const runFolder = process.env['TEST_RUN_FOLDER']

/** Copies a folder with its owners. */
async function copy(from: string, to: string): Promise<void> {
  await promisify(execFile)('cp', ['-a', from, to])
}

/** The names of the roles need quotes. */
const roles = { adminUrl: 'postgres', ownerUrl: 'fusion-owner', url: 'fusion-app' }

/**
 * The roles' password. It has every character that means something in a URL, in SQL or in a shell, and a letter outside
 * ASCII.
 */
export const awkwardPassword = `p@ss:w/r%d#?&'"$\\ß`

/** What every server has. The files of its certificate are next to the folder of its data. */
const configuration = `
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 300
fsync = off
ssl = on
ssl_cert_file = '../server.crt'
ssl_key_file = '../server.key'
`

/**
 * Only the administrator may connect without TLS, as benchmarks do, and the role in compose.yaml, whose server has
 * none.
 */
const hostBasedAccess = `
local all all scram-sha-256
hostssl all,replication all all scram-sha-256
hostnossl all ${roles.adminUrl},fusion all scram-sha-256
`

/** Creates the data of a server, with its certificate, its roles and the database. */
async function initialize(run: Run, folder: string): Promise<void> {
  createAuthority(folder, 'authority')
  createServerCertificate(folder, 'authority')
  const data = path.join(folder, 'data')
  writeFileSync(path.join(folder, 'password'), awkwardPassword)
  await giveToOwner(folder)
  await run(['initdb', '-D', data, '-U', roles.adminUrl, '-A', 'scram-sha-256', '--pwfile=password', '--no-sync'])
  writeFileSync(path.join(data, 'pg_hba.conf'), hostBasedAccess)
  appendFileSync(path.join(data, 'postgresql.conf'), configuration)
  const literal = `'${awkwardPassword.replaceAll("'", "''")}'`
  const create = [roles.ownerUrl, roles.url].map((role) => `CREATE ROLE "${role}" LOGIN PASSWORD ${literal}`)
  const script = [...create, `CREATE DATABASE fusion OWNER "${roles.ownerUrl}"`].join('\n')
  await run(['sh', '-ec', `printf %s "$SCRIPT" | postgres --single -D "$DATA" postgres`], {
    SCRIPT: script,
    DATA: data,
  })
}

/** PostgreSQL does not run as root. */
const isRoot = process.getuid?.() === 0

async function giveToOwner(folder: string): Promise<void> {
  if (isRoot) await promisify(execFile)('chown', ['-R', 'postgres:', folder])
}

/** Runs a command as the user who owns the data, with PostgreSQL's programs. */
type Run = (command: readonly string[], env?: Readonly<Record<string, string>>) => Promise<void>

async function startCluster(
  settings: Readonly<Record<string, string>>,
  createFiles: (run: Run, folder: string) => Promise<void>,
): Promise<Cluster> {
  const folder = mkdtempSync(path.join(tmpdir(), 'fusion-cluster-'))
  const data = path.join(folder, 'data')
  const port = await freePort()
  const run: Run = async (command, env = {}) => {
    const [program, ...rest] = isRoot ? ['runuser', '-u', 'postgres', '--', ...command] : command
    const PATH = `${programs}:${process.env['PATH']}`
    await promisify(execFile)(program as string, rest, { cwd: folder, env: { ...process.env, ...env, PATH } })
  }

  const flags = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`)
  const options = [`-p ${port}`, ...flags].join(' ')
  const start = () => run(['pg_ctl', 'start', '-w', '-s', '-D', data, '-l', path.join(folder, 'log'), '-o', options])
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

  await giveToOwner(folder)
  await createFiles(run, folder)
  await start()
  const authority = path.join(folder, 'authority.crt')
  const urlOf = (role: string) =>
    `postgresql://${role}:${encodeURIComponent(awkwardPassword)}@127.0.0.1:${port}/fusion?sslmode=verify-full&sslrootcert=${authority}`
  const adminUrl = urlOf(roles.adminUrl)
  const copyFiles = (flags: readonly string[]) =>
    startCluster(settings, async (runForCopy, folderOfCopy) => {
      for (const file of ['authority.crt', 'server.crt', 'server.key'])
        await copy(path.join(folder, file), folderOfCopy)
      const target = path.join(folderOfCopy, 'data')
      await runForCopy(['pg_basebackup', '-D', target, '-d', adminUrl, ...flags, '-c', 'fast', '--no-sync'])
    })
  return {
    url: urlOf(roles.url),
    ownerUrl: urlOf(roles.ownerUrl),
    adminUrl,
    authority,
    start,
    createReplica: () => copyFiles(['-R']),
    restoreBackup: () => copyFiles([]),
    stop: (mode) => run(['pg_ctl', 'stop', '-w', '-s', '-D', data, '-m', mode]),
    kill: () => signal('SIGKILL'),
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    runScript: (script, env) => run(['sh', '-ec', script], env),
    readLog: () => readFileSync(path.join(folder, 'log'), 'utf8'),
    async remove() {
      signal('SIGCONT')
      await run(['pg_ctl', 'stop', '-w', '-s', '-D', data, '-m', 'immediate']).catch(() => undefined)
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

const newKey = '-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'

/** Creates an authority in a folder: `<name>.crt` and `<name>.key`. */
export function createAuthority(folder: string, name: string): void {
  openssl(folder, `req -x509 ${newKey} -days 2 -subj /CN=${name} -keyout ${name}.key -out ${name}.crt`)
}

/**
 * Creates the certificate of a server of this machine, signed by the authority in the same folder: `server.crt` and
 * `server.key`.
 */
function createServerCertificate(folder: string, authority: string): void {
  openssl(folder, `req ${newKey} -subj /CN=localhost -keyout server.key -out server.csr`)
  writeFileSync(path.join(folder, 'names'), 'subjectAltName=DNS:localhost,IP:127.0.0.1')
  const issuer = `-CA ${authority}.crt -CAkey ${authority}.key -CAcreateserial`
  openssl(folder, `x509 -req -days 2 -in server.csr ${issuer} -extfile names -out server.crt`)
}

function openssl(folder: string, command: string): void {
  execFileSync('openssl', command.split(' '), { cwd: folder, stdio: 'ignore' })
}
