import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { skip } from '../support/skip.ts'

/** Runs a proxy in the foreground, and checks its configuration. */
export interface ProxyCommands {
  readonly check: readonly string[]
  readonly run: readonly string[]
}

/** Whether programs run: their arguments print a version. Without them, their tests are {@link skip}ped. */
export function canRun(skipped: string, commands: readonly (readonly [string, string])[]): boolean {
  const missing = commands.filter(([program, version]) => spawnSync(program, [version]).status !== 0)
  if (missing.length === 0) return true
  skip(skipped, `install the Debian packages ${missing.map(([program]) => program).join(' and ')}`)
  return false
}

/** @param http the content of the block `http` */
export function nginxCommands(folder: string, http: string): ProxyCommands {
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder};`)
  const file = path.join(folder, 'nginx.conf')
  writeFileSync(
    file,
    `daemon off; pid ${folder}/nginx.pid; error_log stderr; events {}
    http { access_log off; ${paths.join(' ')} ${http} }`,
  )
  const run = ['nginx', '-e', 'stderr', '-p', folder, '-c', file]
  return { check: [...run, '-t'], run }
}

/** @param sites the blocks of sites */
export function caddyCommands(folder: string, sites: string): ProxyCommands {
  const file = path.join(folder, 'Caddyfile')
  writeFileSync(file, `{\n\tadmin off\n\tauto_https disable_redirects\n}\n${sites}`)
  const config = ['--adapter', 'caddyfile', '--config', file]
  return { check: ['caddy', 'validate', ...config], run: ['caddy', 'run', ...config] }
}

export function haproxyCommands(folder: string, text: string): ProxyCommands {
  const file = path.join(folder, 'haproxy.cfg')
  writeFileSync(file, text)
  return { check: ['haproxy', '-c', '-q', '-f', file], run: ['haproxy', '-db', '-f', file] }
}

/**
 * Checks the configuration of a proxy, starts it, and waits until it accepts connections.
 *
 * @returns stops it
 * @throws Error with its output if it exits
 */
export async function startProxy(
  folder: string,
  { check, run }: ProxyCommands,
  port: number,
): Promise<() => Promise<void>> {
  const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
  execFileSync(check[0] as string, check.slice(1), { env, stdio: 'pipe' })
  const child = spawn(run[0] as string, run.slice(1), { env, stdio: ['ignore', 'ignore', 'pipe'] })
  const exited = once(child, 'exit')
  let output = ''
  child.stderr.on('data', (chunk) => {
    output += chunk
  })
  while (!(await accepts(port))) {
    if (child.exitCode !== null) throw new Error(`${run[0]} exited with ${child.exitCode}:\n${output}`)
    await setTimeout(20)
  }
  return async () => {
    child.kill('SIGTERM')
    await exited
  }
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  const isAccepted = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return isAccepted
}
