import { execFile } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { startTestApp, type TestApp } from '../support/app.ts'

let app: TestApp

beforeAll(async () => {
  app = await startTestApp({ demoKey: 'fus_demo' })
})
afterAll(() => app.close())

const open = (url: string, headers: object = {}) =>
  app.app.inject({ url, headers: { accept: 'text/html', host: 'localhost:4000', ...headers } })

const filesIn = (page: string) => [...new Set(page.match(/\/console\/files\/[0-9a-f]+\.(?:css|js)/g))]

describe('/console', () => {
  it('is one page for all its paths but for their way to the root, which is sent again only if it has changed', async () => {
    const { body } = await open('/console')
    for (const [path, root] of [
      ['/console/', '../'],
      ['/console/users/usr_1?search=x', '../../'],
    ] as const) {
      expect((await open(path)).body.replaceAll(`"${root}`, '"./')).toBe(body)
    }
    const { headers, body: jobs } = await open('/console/jobs')
    expect(jobs.replaceAll('"../', '"./')).toBe(body)
    expect(headers['cache-control']).toBe('private, no-cache')
    expect((await open('/console/jobs', { 'if-none-match': headers['etag'] })).statusCode).toBe(304)
    expect((await app.app.inject({ method: 'POST', url: '/console' })).statusCode).toBe(405)
  })

  it('runs no inline script, besides the map of its modules', async () => {
    const { body, headers } = await open('/console')
    const policy = String(headers['content-security-policy'])
    expect(policy).not.toMatch(/unsafe|https?:/)
    expect(policy).toContain("connect-src 'self'")
    expect([...body.matchAll(/<script(?![^>]* src=)([^>]*)>/g)].map(([, attributes]) => attributes?.trim())).toEqual([
      'type="importmap"',
    ])
  })

  it('loads at most 100 KB, compressed', async () => {
    const { body } = await open('/console')
    const files = filesIn(body)
    expect(files.length).toBeGreaterThan(15)
    const responses = await Promise.all(files.map((url) => app.app.inject({ url })))
    expect(responses.map(({ statusCode }) => statusCode)).toEqual(files.map(() => 200))
    const size = [body, ...responses.map((response) => response.body)].reduce(
      (sum, text) => sum + gzipSync(text).length,
      0,
    )
    expect(size).toBeLessThan(100_000)
  })

  it('has modules without types, which are removed without a warning', async () => {
    const program = `import { readModules } from '@fusion-gateway/console'; process.stdout.write(JSON.stringify(await readModules()))`
    const args = ['--input-type=module', '--eval', program]
    const { stdout, stderr } = await promisify(execFile)(process.execPath, args)
    const codes = new Map<string, string>(JSON.parse(stdout))
    expect(codes.get('session.ts')).toMatch(/export const can = \(scope +\) => /)
    expect(stderr).toBe('')
  })

  // Templates have no types.
  it.each(globSync('packages/console/src/files/*.ts'))(
    'creates components with `h`, which checks their props: %s',
    (file) => {
      expect(readFileSync(file, 'utf8')).not.toMatch(/<\$\{(?!texts)/)
    },
  )

  it('has files that browsers keep for good, and no others', async () => {
    const [file = ''] = filesIn((await open('/console')).body)
    const { headers } = await app.app.inject({ url: file, headers: { 'accept-encoding': 'br' } })
    expect(headers['cache-control']).toBe('public, max-age=31536000, immutable')
    expect(headers['content-encoding']).toBe('br')
    expect((await app.app.inject('/console/files/main.js')).statusCode).toBe(404)
  })

  it('is hidden by CONSOLE=off, and where only trusted documents are executed', async () => {
    expect(readConfig({}).console).toBe(true)
    expect(readConfig({ CONSOLE: 'off' }).console).toBe(false)
    expect(readConfig({ TRUSTED_DOCUMENTS: 'documents.json' }).console).toBe(false)
    const hidden = await app.startAnother({ console: false })
    const responses = await Promise.all(['/console', '/console/jobs'].map((url) => hidden.app.inject(url)))
    expect(responses.map(({ statusCode }) => statusCode)).toEqual([404, 404])
    expect((await hidden.app.inject('/')).json().links.console).toBeNull()
    await hidden.close()
  })
})
