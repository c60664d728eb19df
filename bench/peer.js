import { execFile, spawn } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'

/** The root of this project. */
export const projectRoot = path.resolve(import.meta.dirname, '..')

/** Returns a function that runs `fusion …` on a database to its end and returns its output. */
export function fusionOn(url, root = projectRoot) {
  return async (...args) => {
    const { stdout } = await promisify(execFile)(process.execPath, [path.join(root, 'src/cli.ts'), ...args], {
      env: { ...process.env, DATABASE_URL: url },
      maxBuffer: 1e8,
    })
    return stdout.trim()
  }
}

/**
 * Starts a process and waits until it prints that it is ready.
 *
 * @param name its name in messages
 * @param args the arguments of node
 */
export async function startProcess(name, args, env, isReady = /ready|Server listening/) {
  const child = spawn(process.execPath, args, {
    cwd: import.meta.dirname,
    env: { ...process.env, NODE_ENV: 'production', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  await new Promise((resolve, reject) => {
    const read = (chunk) => {
      if (output.length < 10_000) output += chunk
      if (isReady.test(output)) resolve()
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    child.once('exit', (code) => reject(new Error(`${name} ended with ${code}:\n${output}`)))
  })
  return child
}

/**
 * Starts a gateway. By default its keys have no rate limit, because the benchmark measures how fast one key can be
 * served, and it keeps no responses, because most cases repeat one request and measure reading.
 *
 * @param cacheMib its `RESPONSE_CACHE_MIB`; empty: the default of `serve`. Versions without this variable ignore it
 * @param args further arguments of `serve`
 */
export function startGateway(name, { url, port, root = projectRoot, rateLimit = 0, cacheMib = '0', args = [] }) {
  const env = {
    DATABASE_URL: url,
    PORT: String(port),
    RATE_LIMIT: String(rateLimit),
    RESPONSE_CACHE_MIB: cacheMib,
    LOG_LEVEL: 'info',
  }
  return startProcess(name, [path.join(root, 'src/cli.ts'), 'serve', ...args], env)
}
