import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Compose } from './compose.ts'

/** The servers of compose.yaml, at the ports that it names. */
export interface Servers {
  /** Their host names in compose.yaml, and their addresses here. */
  readonly hosts: Readonly<Record<string, string>>
  stop(): Promise<void>
}

/** The folder of PostgreSQL's programs on Debian, with a folder for each version. */
const debian = '/usr/lib/postgresql'

/** Whether this machine has the programs. Images of them cannot be pulled everywhere. */
export function canStartServers(): boolean {
  return existsSync(debian) && existsSync('/usr/bin/redis-server')
}

/**
 * Starts the PostgreSQL and the Redis of compose.yaml from Debian's packages. Each has a loopback address of its own,
 * because the ports are taken on 127.0.0.1 where servers of the system run. PostgreSQL demands the password, as its
 * container does.
 */
export async function startServers({ postgres }: Compose): Promise<Servers> {
  const network = `127.${100 + (process.pid % 100)}.${Math.floor(process.pid / 100) % 250}`
  const hosts = { postgres: `${network}.2`, redis: `${network}.3` }
  const stopPostgres = startPostgres(postgres, hosts.postgres)
  const redis = spawn('redis-server', ['--bind', hosts.redis, '--port', '6379', '--save', ''], { stdio: 'ignore' })
  await listening(hosts.redis, 6_379)
  return {
    hosts,
    async stop() {
      redis.kill()
      await once(redis, 'exit')
      stopPostgres()
    },
  }
}

function startPostgres({ user, password, database }: Compose['postgres'], address: string): () => void {
  const version = readdirSync(debian).toSorted((one, other) => Number(other) - Number(one))[0] ?? ''
  const folder = mkdtempSync(path.join(tmpdir(), 'fusion-compose-'))
  const data = path.join(folder, 'data')
  writeFileSync(path.join(folder, 'password'), password)
  chmodSync(folder, 0o755)
  execFileSync('chown', ['-R', 'postgres:', folder])
  // PostgreSQL does not run as root.
  const run = (program: string, ...args: string[]) => {
    const command = ['-u', 'postgres', '--', path.join(debian, version, 'bin', program), ...args]
    execFileSync('runuser', command, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
  }
  run('initdb', '-D', data, '-U', user, '-A', 'scram-sha-256', '--pwfile=password', '--encoding=UTF8', '--no-sync')
  writeFileSync(path.join(data, 'pg_hba.conf'), 'host all all all scram-sha-256\nlocal all all trust\n')
  const options = `-c listen_addresses=${address} -c port=5432 -c fsync=off -k ${folder}`
  run('pg_ctl', 'start', '-w', '-s', '-D', data, '-l', path.join(folder, 'log'), '-o', options)
  run('createdb', '-h', folder, '-U', user, database)
  return () => {
    run('pg_ctl', 'stop', '-w', '-s', '-D', data, '-m', 'immediate')
    rmSync(folder, { recursive: true })
  }
}

/** Waits until a server accepts connections. */
async function listening(host: string, port: number): Promise<void> {
  for (let tries = 0; tries < 100; tries += 1) {
    const socket = net.connect(port, host)
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    socket.destroy()
    if (isOpen) return
    await setTimeout(100)
  }
  throw new Error(`No server listens at ${host}:${port}`)
}
