import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
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
import { caddyCommands, canRun, nginxCommands, type ProxyCommands, startProxy } from './web-proxies.ts'

/** A proxy in front of the gateway, with the configuration that docs/recipes/proxies.md shows. */
interface Proxy {
  /** The program, and its arguments that print its version. */
  readonly program: readonly [string, string]
  prepare(gateway: string, port: number): ProxyCommands
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
      return nginxCommands(folder, site)
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
      return caddyCommands(folder, site)
    },
  },
}

const openssl = ['openssl', 'version'] as const

let app: TestApp
let tenant: TestTenant
let rows: Awaited<ReturnType<typeof createOneOfEach>>
const demoKey = 'fus_the_key_of_the_demo_tenant'

beforeAll(async () => {
  app = await startTestApp({ demoKey })
  tenant = await app.createTenant()
  rows = await createOneOfEach(app, tenant)
  folder = mkdtempSync(path.join(tmpdir(), 'fusion-proxy-'))
  const names = ['-subj', '/CN=gateway', '-addext', 'subjectAltName=IP:127.0.0.1']
  const files = ['-keyout', 'gateway.key', '-out', 'gateway.crt']
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...names, ...files], {
    cwd: folder,
    stdio: 'ignore',
  })
})
afterAll(async () => {
  await app.close()
  rmSync(folder, { recursive: true })
})

/** A response over HTTP/2. */
interface GatewayResponse {
  readonly status: unknown
  /** The next part of the body; undefined at its end. */
  next(): Promise<string | undefined>
  readAll(): Promise<string>
  close(): void
}

async function send(
  session: ClientHttp2Session,
  headers: Record<string, string>,
  body?: object,
): Promise<GatewayResponse> {
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
  describe.skipIf(!canRun(`${name} in front of the gateway`, [program, openssl]))(
    `${name} in front of the gateway`,
    () => {
      let session: ClientHttp2Session
      let host: string
      let stop: () => Promise<unknown>

      beforeAll(async () => {
        const port = await freePort()
        host = `127.0.0.1:${port}`
        stop = await startProxy(folder, prepare((await addressOf(app)).replace('http://', ''), port), port)
        session = connect(`https://${host}`, { ca: readFileSync(inFolder('gateway.crt')) })
        await once(session, 'connect')
      })
      afterAll(async () => {
        session?.destroy()
        await stop?.()
      })

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
            return { id, response: await send(session, headers, { query: followJob, variables: { id } }) }
          }),
        )
        const until = async ({ next }: GatewayResponse, text: string) => {
          let received = ''
          while (!received.includes(text)) {
            const part = await next()
            if (part === undefined) throw new Error(`The stream ended before ${text}:\n${received}`)
            received += part
          }
        }
        for (const { response } of streams) await until(response, 'PENDING')
        for (const { id, response } of streams) {
          await app.graphql(tenant, `mutation { cancelJob(input: { id: "${id}" }) { job { id } } }`)
          await until(response, 'CANCELLED')
        }
      })

      it('passes each part of a multipart subscription on at once', async () => {
        const { id } = await factoriesFor(app, tenant).job()
        const accept = 'multipart/mixed;boundary="graphql";subscriptionSpec=1.0,application/json'
        const headers = { ':path': '/graphql', accept, 'x-api-key': tenant.key }
        const response = await send(session, headers, { query: followJob, variables: { id } })
        let received = ''
        while (!received.includes('PENDING')) received += await response.next()
        response.close()
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
    },
  )
}
