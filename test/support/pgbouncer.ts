import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { awkwardPassword, type Cluster, freePort } from './cluster.ts'
import { roleOf } from './migrate.ts'

/** Whether this machine has PgBouncer. */
export const hasPgBouncer = spawnSync('pgbouncer', ['--version']).status === 0

/** A running PgBouncer. It asks for the passwords of the server. */
export interface PgBouncer {
  /** The URL of the database through it, for the role that may only read and write rows. */
  readonly url: string
  /** The same for the role that owns the database. */
  readonly ownerUrl: string
  /**
   * Leads to another server, or to another database of it. Connections to the former one are closed when its clients
   * release them.
   */
  retarget(cluster: Pick<Cluster, 'url'>): void
  stop(): Promise<void>
}

/**
 * Starts PgBouncer. Clients connect to it without TLS.
 *
 * @param cluster the server behind it
 * @param sessions how many sessions of the server its clients share
 * @param mode when a client gets another session: `session` is never
 */
export async function startPgBouncer(
  cluster: Cluster,
  sessions: number,
  mode: 'session' | 'transaction' | 'statement' = 'transaction',
): Promise<PgBouncer> {
  const folder = mkdtempSync(path.join(tmpdir(), 'fusion-pgbouncer-'))
  const ownPort = await freePort()
  const [file, users, authority] = ['pgbouncer.ini', 'users.txt', 'authority.crt'].map((name) =>
    path.join(folder, name),
  ) as [string, string, string]
  const settings = {
    listen_addr: '127.0.0.1',
    listen_port: ownPort,
    unix_socket_dir: '',
    auth_type: 'scram-sha-256',
    auth_file: users,
    server_tls_sslmode: 'verify-full',
    server_tls_ca_file: authority,
    pool_mode: mode,
    default_pool_size: sessions,
    max_client_conn: 500,
    // Seconds without a further attempt after one that failed.
    server_login_retry: 0.5,
  }
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`)
  const retarget = ({ url }: Pick<Cluster, 'url'>) => {
    const { hostname, port, pathname } = new URL(url)
    const database = `fusion = host=${hostname} port=${port} dbname=${pathname.slice(1)}`
    writeFileSync(file, `[databases]\n${database}\n[pgbouncer]\n${lines.join('\n')}\n`)
  }
  retarget(cluster)
  const quote = (text: string) => `"${text.replaceAll('"', '""')}"`
  const roles = [cluster.url, cluster.ownerUrl].map((url) => `${quote(roleOf(url))} ${quote(awkwardPassword)}\n`)
  writeFileSync(users, roles.join(''))
  copyFileSync(cluster.authority, authority)
  // PgBouncer does not run as root.
  if (process.getuid?.() === 0) spawnSync('chown', ['-R', 'nobody', folder])
  const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
  const child = spawn('pgbouncer', [...user, file], { stdio: ['ignore', 'ignore', 'pipe'] })
  for await (const chunk of child.stderr) if (String(chunk).includes('process up')) break
  child.stderr.resume()
  const through = (text: string) => {
    const url = new URL(text)
    url.port = String(ownPort)
    url.search = ''
    return url.href
  }
  return {
    url: through(cluster.url),
    ownerUrl: through(cluster.ownerUrl),
    retarget(target) {
      retarget(target)
      child.kill('SIGHUP')
    },
    async stop() {
      child.kill('SIGTERM')
      if (child.exitCode === null) await once(child, 'exit')
      rmSync(folder, { recursive: true })
    },
  }
}
