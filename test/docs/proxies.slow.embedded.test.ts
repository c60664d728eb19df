import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type ClientHttp2Session, connect } from 'node:http2'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createClient } from 'graphql-ws'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { freePort } from '../support/cluster.ts'
import { readPage } from '../support/docs.ts'
import { addressOf } from '../support/events.ts'
import { createOneOfEach, factoriesFor } from '../support/factories.ts'

const canCreateCertificates = spawnSync('openssl', ['version']).status === 0

/** A proxy in front of the gateway, with the configuration that docs/frontends.md shows. */
interface Proxy {
  /** The program, and its arguments that print its version. */
  readonly program: readonly [string, string]
  /** Writes the configuration to the folder. Returns the command that checks it, and the one that runs the proxy in the foreground. */
  prepare(gateway: string, port: number): { readonly check: readonly string[]; readonly run: readonly string[] }
}

let folder: string
const inFolder = (name: string) => path.join(folder, name)

const proxies: Record<string, Proxy> = {
  nginx: {
    program: ['nginx', '-v'],
    prepare(gateway, port) {
      const site = readPage('examples/frontends/nginx.conf')
        .replace('127.0.0.1:4000', gateway)
        .replace('listen 443', `listen 127.0.0.1:${port}`)
        .replaceAll('/etc/ssl', folder)
      writeFileSync(inFolder('site.conf'), site)
      const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder};`)
      writeFileSync(
        inFolder('nginx.conf'),
        `daemon off; pid ${inFolder('nginx.pid')}; error_log stderr; events {}
        http { access_log off; ${paths.join(' ')} include ${inFolder('site.conf')}; }`,
      )
      const run = ['nginx', '-e', 'stderr', '-p', folder, '-c', inFolder('nginx.conf')]
      return { check: [...run, '-t'], run }
    },
  },
  Caddy: {
    program: ['caddy', 'version'],
    prepare(gateway, port) {
      const site = readPage('examples/frontends/Caddyfile')
        .replace('127.0.0.1:4000', gateway)
        .replace(
          'gateway.example.com {',
          `https://127.0.0.1:${port} {\n\ttls ${folder}/gateway.crt ${folder}/gateway.key`,
        )
      writeFileSync(inFolder('Caddyfile'), `{\n\tadmin off\n\tauto_https disable_redirects\n}\n${site}`)
      const config = ['--adapter', 'caddyfile', '--config', inFolder('Caddyfile')]
      return { check: ['caddy', 'validate', ...config], run: ['caddy', 'run', ...config] }
    },
  },
}

/** @throws Error in CI if the program is missing, because CI must not skip tests */
function isInstalled(name: string, [program, version]: readonly [string, string]): boolean {
  if (canCreateCertificates && spawnSync(program, [version]).status === 0) return true
  const reason = `install the Debian packages ${program} and openssl`
  if (process.env['CI']) throw new Error(`${name} must be tested in CI: ${reason}`)
  process.stderr.write(`SKIPPED ${name} in front of the gateway: ${reason}\n`)
  return false
}

let app: TestApp
let tenant: TestTenant
let rows: Awaited<ReturnType<typeof createOneOfEach>>
const demoKey = 'fus_the_key_of_the_demo_tenant'

beforeAll(async () => {
  app = await startTestApp({ demoKey })
  tenant = await app.createTenant()
  rows = await createOneOfEach(app, tenant)
  folder = mkdtempSync(path.join(tmpdir(), 'fusion-proxy-'))
  if (!canCreateCertificates) return
  const names = ['-subj', '/CN=gateway', '-addext', 'subjectAltName=IP:127.0.0.1']
  const files = ['-keyout', 'gateway.key', '-out', 'gateway.crt']
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...names, ...files], {
    ...{ cwd: folder, stdio: 'ignore' },
  })
})
afterAll(async () => {
  await app.close()
  rmSync(folder, { recursive: true })
})

/** A response over HTTP/2. */
interface Answer {
  readonly status: unknown
  /** The next part of the body; undefined at its end. */
  next(): Promise<string | undefined>
  readAll(): Promise<string>
  close(): void
}

async function send(session: ClientHttp2Session, headers: Record<string, string>, body?: object): Promise<Answer> {
  const text = body && JSON.stringify(body)
  const own = text && { ':method': 'POST', 'content-type': 'application/json', 'content-length': text.length }
  // Node sends no body with GET otherwise.
  const stream = session.request({ ...own, ...headers }, { endStream: false })
  stream.setEncoding('utf8').end(text)
  const [answered] = (await once(stream, 'response')) as [Record<string, unknown>]
  const parts = stream[Symbol.asyncIterator]()
  const next = async () => (await parts.next()).value as string | undefined
  return {
    status: answered[':status'],
    next,
    async readAll() {
      let text = ''
      for (let part = await next(); part !== undefined; part = await next()) text += part
      return text
    },
    close: () => stream.close(),
  }
}

const followJob = 'subscription Follow($id: ID!) { job(id: $id) { id status } }'

for (const [name, { program, prepare }] of Object.entries(proxies)) {
  describe.skipIf(!isInstalled(name, program))(`${name} in front of the gateway`, () => {
    let session: ClientHttp2Session
    let host: string
    let stop: () => Promise<unknown>

    beforeAll(async () => {
      const port = await freePort()
      host = `127.0.0.1:${port}`
      const { check, run } = prepare((await addressOf(app)).replace('http://', ''), port)
      const home = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
      execFileSync(check[0] as string, check.slice(1), { env: home, stdio: 'pipe' })
      const child = spawn(run[0] as string, run.slice(1), { env: home, stdio: ['ignore', 'ignore', 'pipe'] })
      const exited = once(child, 'exit')
      let output = ''
      child.stderr.on('data', (chunk) => {
        output += chunk
      })
      stop = async () => {
        session?.destroy()
        child.kill('SIGTERM')
        await exited
      }
      session = await connectWhenReady(port, () => {
        if (child.exitCode !== null) throw new Error(`${name} exited with ${child.exitCode}:\n${output}`)
      })
    })
    afterAll(() => stop?.())

    it('forwards credentials, and bodies of GET', async () => {
      const mutation = 'mutation ($id: ID!) { createAccessToken(input: { userId: $id }) { accessToken } }'
      const { data } = await app.graphql<{ createAccessToken: { accessToken: string } }>(tenant, mutation, {
        id: rows.user.id,
      })
      const authorization = `Bearer ${data.createAccessToken.accessToken}`
      const me = await send(session, { ':path': '/graphql', authorization }, { query: '{ viewer { user { id } } }' })
      expect(JSON.parse(await me.readAll())).toMatchObject({ data: { viewer: { user: { id: rows.user.id } } } })
      const get = { ':method': 'GET', ':path': '/fusion/profiles', authorization }
      const profiles = await (await send(session, get, [rows.account.id])).readAll()
      expect(JSON.parse(profiles)).toMatchObject({ profiles: [{ id: rows.profile.id }] })
    })

    it('passes each event on at once, for more subscriptions than HTTP/1.1 allows a browser', async () => {
      const streams = await Promise.all(
        Array.from({ length: 10 }, async () => {
          const { id } = await factoriesFor(app, tenant).job()
          const headers = { ':path': '/graphql', accept: 'text/event-stream', 'x-api-key': tenant.key }
          return { id, answer: await send(session, headers, { query: followJob, variables: { id } }) }
        }),
      )
      const until = async ({ next }: Answer, text: string) => {
        let received = ''
        while (!received.includes(text)) {
          const part = await next()
          if (part === undefined) throw new Error(`The stream ended before ${text}:\n${received}`)
          received += part
        }
      }
      for (const { answer } of streams) await until(answer, 'PENDING')
      for (const { id, answer } of streams) {
        await app.graphql(tenant, `mutation { cancelJob(input: { id: "${id}" }) { job { id } } }`)
        await until(answer, 'CANCELLED')
      }
    })

    it('passes each part of a multipart subscription on at once', async () => {
      const { id } = await factoriesFor(app, tenant).job()
      const accept = 'multipart/mixed;boundary="graphql";subscriptionSpec=1.0,application/json'
      const headers = { ':path': '/graphql', accept, 'x-api-key': tenant.key }
      const answer = await send(session, headers, { query: followJob, variables: { id } })
      let received = ''
      while (!received.includes('PENDING')) received += await answer.next()
      answer.close()
    })

    it('forwards a WebSocket, which clients of HTTP/1.1 open', async () => {
      const { id } = await factoriesFor(app, tenant).job()
      const webSocketImpl = class extends WebSocket {
        constructor(url: string, protocol: string) {
          super(url, protocol, { ca: readFileSync(inFolder('gateway.crt')) })
        }
      }
      const connectionParams = { 'x-api-key': tenant.key }
      const socket = createClient({ url: `wss://${host}/graphql`, webSocketImpl, connectionParams, retryAttempts: 0 })
      const results = socket.iterate<{ job?: unknown }>({ query: followJob, variables: { id } })
      const nextJob = async () => (await results.next()).value?.data?.job
      expect(await nextJob()).toEqual({ id, status: 'PENDING' })
      await app.graphql(tenant, `mutation { cancelJob(input: { id: "${id}" }) { job { id } } }`)
      expect(await nextJob()).toEqual({ id, status: 'CANCELLED' })
      await socket.dispose()
    })

    it('gets no key of the demo tenant, even for a browser on the same machine', async () => {
      const page = async (address: string) => (await fetch(address, { headers: { accept: 'text/html' } })).text()
      expect(await page(`${await addressOf(app)}/graphql`)).toContain(demoKey)
      const { readAll } = await send(session, { ':path': '/graphql', accept: 'text/html' })
      const text = await readAll()
      expect(text).toContain('GraphiQL')
      expect(text).not.toContain(demoKey)
    })

    it('has its own address in the OpenAPI document', async () => {
      const document = await (await send(session, { ':path': '/openapi.json' })).readAll()
      expect(JSON.parse(document).servers[0].url).toMatch(/^https:\/\/127\.0\.0\.1(:\d+)?$/)
    })

    it('hides the metrics', async () => {
      expect((await send(session, { ':path': '/metrics' })).status).toBe(404)
    })
  })

  async function connectWhenReady(port: number, check: () => void): Promise<ClientHttp2Session> {
    for (;;) {
      check()
      const candidate = connect(`https://127.0.0.1:${port}`, { ca: readFileSync(inFolder('gateway.crt')) })
      const isConnected = await once(candidate, 'connect').then(
        () => true,
        (error: NodeJS.ErrnoException) => {
          if (error.code !== 'ECONNREFUSED') throw error
          return false
        },
      )
      if (isConnected) return candidate
    }
  }
}
