import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { buildVersion } from '@fusion-gateway/base'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'

let app: TestApp
let tenant: TestTenant

beforeAll(async () => {
  app = await startTestApp({ demoKey: 'fus_demo', corsOrigins: ['https://app.example.com'] })
  tenant = await app.createTenant()
})
afterAll(() => app.close())

const open = (url: string, headers: object = {}, from = app) =>
  from.app.inject({ url, headers: { accept: 'text/html,*/*;q=0.8', host: 'localhost:4000', ...headers } })

const pages = ['/', '/docs', '/graphql', '/console']

describe('/', () => {
  it('tells clients in JSON where everything is', async () => {
    for (const accept of [undefined, '*/*', 'application/json']) {
      const response = await app.app.inject({ url: '/', headers: { ...(accept && { accept }) } })
      expect([response.statusCode, response.headers['vary']]).toEqual([200, 'accept'])
      expect(response.json()).toEqual({
        name: 'Fusion Gateway',
        version: buildVersion(),
        links: {
          graphql: '/graphql',
          graphiql: '/graphql',
          console: '/console',
          documentation: '/docs',
          openapi: '/openapi.json',
          health: '/health',
          ready: '/ready',
        },
      })
    }
  })

  it('tells browsers in a page, with links that work', async () => {
    const { body, headers } = await open('/')
    expect(headers['content-type']).toBe('text/html; charset=utf-8')
    expect(body).toContain(`version ${buildVersion()}`)
    const links = new Set([...body.matchAll(/href="([^"]+)"/g)].map(([, link = '']) => link))
    expect([...links]).toEqual(
      expect.arrayContaining(['./graphql', './docs', './openapi.json', './health', './favicon.svg']),
    )
    for (const link of links) expect((await open(link.slice(1))).statusCode, link).toBe(200)
  })

  it('shows requests of both APIs, with a placeholder where the key is not shown', async () => {
    const local = (await open('/')).body
    const remote = (await open('/', { host: 'gateway.test' })).body
    for (const path of ['/users?limit=2', '/graphql']) {
      expect(local).toContain(`curl "http://localhost:4000${path}"`)
      expect(remote).toContain(`curl "$GATEWAY${path}"`)
    }
    expect(local).toContain('-H "x-api-key: fus_demo"')
    expect(remote).toContain('-H "x-api-key: $KEY"')
    expect(remote).not.toContain('gateway.test')
    const trustedDocuments = { others: 'reject', byId: new Map(), texts: new Set<string>() } as const
    const only = await app.startAnother({ graphiql: false, trustedDocuments })
    expect((await open('/', {}, only)).body).not.toContain('$GATEWAY/graphql')
    await only.close()
  })

  it('does not link to GraphiQL if it is off', async () => {
    const plain = await app.startAnother({ graphiql: false })
    expect((await open('/', {}, plain)).body).not.toContain('GraphiQL')
    expect((await plain.app.inject('/')).json().links).toMatchObject({ graphql: '/graphql', graphiql: null })
    await plain.close()
  })
})

describe('a page', () => {
  it.each(pages)('loads nothing from other hosts and cannot be embedded: %s', async (url) => {
    const { headers, body } = await open(url)
    const policy = String(headers['content-security-policy'])
    expect(policy).toMatch(/^default-src 'none';.* frame-ancestors 'none'/)
    expect(policy).not.toMatch(/https?:|\*/)
    expect(headers['x-frame-options']).toBe('DENY')
    expect(body).not.toMatch(/(?:src|href)="(?:https?:)?\/\//)
  })

  it.each([...pages, '/console/jobs', '/console/jobs/job_1', '/guides', '/guides/rest', '/guides/recipes/relay'])(
    'has only links that are relative, so that a proxy can serve it below a path: %s',
    async (url) => {
      const { body } = await open(url)
      const html = body.replaceAll(/<script type="importmap">(.*?)<\/script>/g, (_, map) =>
        map.replaceAll('":"', '" href="'),
      )
      const links = [...html.matchAll(/ (?:href|src)="([^"]+)"/g)].map(([, link = '']) => link)
      expect(links.length).toBeGreaterThan(4)
      const root = '../'.repeat(url.split('/').length - 2) || './'
      for (const link of links) {
        if (!/^(?:\w+:|#)/.test(link)) expect(link, link).toMatch(new RegExp(`^${root.replaceAll('.', '\\.')}(?!\\.)`))
      }
    },
  )

  it.each(pages)('has the demo key only for browsers on this machine: %s', async (url) => {
    const hasKey = async (host: string, remoteAddress = '127.0.0.1') => {
      const { body } = await app.app.inject({ url, remoteAddress, headers: { accept: 'text/html', host } })
      return body.includes('fus_demo')
    }
    for (const host of [
      'localhost:4000',
      'LOCALHOST',
      'app.localhost:80',
      '127.0.0.1',
      '127.1.2.3:4000',
      '[::1]:4000',
    ]) {
      expect(await hasKey(host), host).toBe(true)
    }
    const others = ['gateway.test', 'localhost.gateway.test', '127.0.0.1.nip.io', 'notlocalhost', '[::2]', '10.0.0.1']
    for (const host of others) expect(await hasKey(host), host).toBe(false)
    for (const address of ['::1', '::ffff:127.0.0.1']) expect(await hasKey('localhost', address), address).toBe(true)
    for (const address of ['10.0.0.1', '::2']) expect(await hasKey('localhost', address), address).toBe(false)
  })

  it.each([
    'Forwarded',
    'Via',
    'X-Forwarded-For',
    'X-Forwarded-Port',
    'X-Forwarded-Client-Cert',
    'X-Original-URL',
    'X-Real-IP',
    'X-Client-IP',
    'X-Cluster-Client-IP',
    'True-Client-IP',
    'CF-Connecting-IP',
    'CF-Ray',
    'CDN-Loop',
    'Fastly-Client-IP',
    'X-Envoy-External-Address',
    'X-Amzn-Trace-Id',
    'X-Amz-Cf-Id',
    'X-Azure-ClientIP',
  ])('has no demo key for a request with a header of proxies: %s', async (header) => {
    expect((await open('/', { [header]: 'x' })).body).not.toContain('fus_demo')
  })

  // One function looks at the headers for all pages, so each page with one of them is enough.
  it.each(pages)('has no demo key for a request of a proxy: %s', async (url) => {
    expect((await open(url, { 'X-Forwarded-For': 'x' })).body).not.toContain('fus_demo')
  })

  it.each(['/docs', '/graphql'])('has files that browsers keep for good, compressed: %s', async (url) => {
    const { body } = await open(url)
    const paths = body.match(/\/\w+\/files\/[0-9a-f]+\.(css|js)/g) ?? []
    expect(paths).toHaveLength(4)
    expect(body.length).toBeLessThan(300_000)
    for (const file of paths) {
      const plain = await app.app.inject(file)
      expect(plain.headers['cache-control']).toBe('public, max-age=31536000, immutable')
      for (const [accepted, encoding, decompress] of [
        ['gzip', 'gzip', gunzipSync],
        ['gzip, deflate, br, zstd', 'br', brotliDecompressSync],
      ] as const) {
        const compressed = await app.app.inject({ url: file, headers: { 'accept-encoding': accepted } })
        expect(compressed.headers['content-encoding']).toBe(encoding)
        expect(decompress(compressed.rawPayload).equals(plain.rawPayload)).toBe(true)
      }
    }
    expect((await app.app.inject(`${url}/files/nothing.js`)).statusCode).toBe(404)
  })

  it.each(['/favicon.ico', '/favicon.svg'])('has an icon: %s', async (url) => {
    const { statusCode, headers, body } = await app.app.inject(url)
    expect([statusCode, headers['content-type']]).toEqual([200, 'image/svg+xml; charset=utf-8'])
    expect(body).toMatch(/^<svg /)
  })

  it('responds to HEAD, and not to other methods', async () => {
    for (const url of ['/', '/docs', '/favicon.ico']) {
      expect((await app.app.inject({ method: 'HEAD', url })).statusCode).toBe(200)
      const response = await app.app.inject({ method: 'POST', url })
      expect([response.statusCode, response.headers['allow']]).toEqual([405, 'GET, HEAD'])
    }
  })
})

describe('/graphql while GraphiQL is off', () => {
  it('tells browsers how to turn it on, with the status of a request without a key', async () => {
    const plain = await app.startAnother({ graphiql: false })
    const page = await open('/graphql', {}, plain)
    expect([page.statusCode, page.headers['content-type']]).toEqual([401, 'text/html; charset=utf-8'])
    expect(page.headers['www-authenticate']).toBe('ApiKey header="x-api-key", Bearer')
    expect(page.body).toContain('GRAPHIQL=on')
    const json = await plain.app.inject('/graphql')
    expect([json.statusCode, json.json().errors[0].extensions.code]).toEqual([401, 'UNAUTHENTICATED'])
    const refused = await open('/graphql', { authorization: 'Bearer x' }, plain)
    expect(refused.headers['content-type']).toBe('application/json; charset=utf-8')
    await plain.close()
  })
})

describe('/graphql of a gateway that executes only trusted documents', () => {
  const paths = { TRUSTED_DOCUMENTS: 'documents.json' }

  it('tells browsers so instead of opening GraphiQL, which could run nothing', async () => {
    expect(readConfig(paths)).toMatchObject({ graphiql: false, trusted: { others: 'reject' } })
    expect(readConfig({ ...paths, GRAPHIQL: 'on' }).graphiql).toBe(false)
    for (const TRUSTED_DOCUMENTS_MODE of ['log', 'off']) {
      expect(readConfig({ ...paths, TRUSTED_DOCUMENTS_MODE }).graphiql).toBe(true)
    }
    const trustedDocuments = { others: 'reject', byId: new Map(), texts: new Set<string>() } as const
    const only = await app.startAnother({ graphiql: false, trustedDocuments })
    const { statusCode, body } = await open('/graphql', {}, only)
    expect(statusCode).toBe(401)
    expect(body).toContain('trusted documents only')
    expect(body).toContain('TRUSTED_DOCUMENTS_MODE=log')
    expect(body).not.toContain('GRAPHIQL=on')
    await only.close()
  })
})

describe('the header server-timing', () => {
  const timing = /^total;dur=\d+\.\d, db;desc="(\d+) statements?"$/
  const countIn = (header: unknown) => Number(timing.exec(String(header))?.[1])

  it('has the number of SQL statements, as the log does', async () => {
    const payload = { query: '{ users(first: 2) { nodes { id } totalCount } }' }
    const headers = { 'x-api-key': tenant.key, origin: 'https://app.example.com' }
    // The first request of a key stores the time of its use too.
    await app.rest(tenant, 'GET', '/users?limit=1')
    const response = await app.app.inject({ method: 'POST', url: '/graphql', headers, payload })
    // The key, the page and the count.
    expect(countIn(response.headers['server-timing'])).toBe(3)
    expect(response.headers['access-control-expose-headers']).toContain('server-timing')
    const line = app.log.find(({ requestId }) => requestId === response.headers['x-request-id'])
    expect(line).toMatchObject({ sql: 3 })
    const rest = await app.rest(tenant, 'GET', '/users?limit=1')
    expect(countIn(rest.headers['server-timing'])).toBe(2)
  })

  it('is sent only to holders of a key', async () => {
    for (const url of ['/health', '/', '/users']) expect((await open(url)).headers['server-timing']).toBeUndefined()
  })
})

it('choosing the encoding of a file takes a few milliseconds for a header of 16 KiB', async () => {
  const [, url = ''] = /href="\.(\/docs\/files\/[^"]+)"/.exec((await open('/docs')).body) ?? []
  const runs: number[] = []
  for (let run = 0; run < 5; run += 1) {
    const began = process.threadCpuUsage()
    const response = await open(url, { 'accept-encoding': `gzip,${'x,'.repeat(7_800)}` })
    const { user, system } = process.threadCpuUsage(began)
    runs.push((user + system) / 1_000)
    expect(response.headers['content-encoding']).toBe('gzip')
  }
  // The fastest run, because a garbage collection can slow down the others. Choosing took 8 ms.
  expect(Math.min(...runs)).toBeLessThan(5)
})
