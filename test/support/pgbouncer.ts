import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { freePort } from './cluster.ts'

/** Whether this machine has PgBouncer. */
export const hasPgBouncer = spawnSync('pgbouncer', ['--version']).status === 0

/** A running PgBouncer. */
export interface PgBouncer {
  /** The URL of the database through it. */
  readonly url: string
  stop(): Promise<void>
}

/**
 * Starts PgBouncer in transaction mode.
 *
 * @param url of the database behind it
 * @param sessions how many sessions of the server its clients share
 */
export async function startPgBouncer(url: string, sessions: number): Promise<PgBouncer> {
  const { hostname, port, pathname, username, password } = new URL(url)
  const folder = mkdtempSync(path.join(tmpdir(), 'fusion-pgbouncer-'))
  const ownPort = await freePort()
  const file = path.join(folder, 'pgbouncer.ini')
  const settings = {
    ...{ listen_addr: '127.0.0.1', listen_port: ownPort, unix_socket_dir: '' },
    ...{ auth_type: 'scram-sha-256', auth_file: path.join(folder, 'users.txt') },
    ...{ pool_mode: 'transaction', default_pool_size: sessions },
  }
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`)
  const database = `* = host=${hostname} port=${port}`
  writeFileSync(settings.auth_file, `"${username}" "${decodeURIComponent(password)}"\n`, { mode: 0o644 })
  writeFileSync(file, `[databases]\n${database}\n[pgbouncer]\n${lines.join('\n')}\n`, { mode: 0o644 })
  // PgBouncer does not run as root.
  const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
  const child = spawn('pgbouncer', [...user, file], { stdio: ['ignore', 'ignore', 'pipe'] })
  for await (const chunk of child.stderr) if (String(chunk).includes('process up')) break
  child.stderr.resume()
  return {
    url: `postgresql://${username}:${password}@127.0.0.1:${ownPort}${pathname}`,
    async stop() {
      child.kill('SIGTERM')
      if (child.exitCode === null) await once(child, 'exit')
      rmSync(folder, { recursive: true })
    },
  }
}
