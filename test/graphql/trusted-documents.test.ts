import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { readTrustedDocuments } from '@fusion-gateway/gateway-kit'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { schemas } from '../../src/domain/schema.graphql.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'

let shared: TestApp
let tenant: TestTenant
beforeAll(async () => {
  shared = await startTestApp()
  tenant = await shared.createTenant()
})
afterAll(() => shared.close())

let folder: string
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'fusion-trusted-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

/** Creates a file in the folder, and returns its path. */
function write(name: string, content: unknown): string {
  const file = path.join(folder, name)
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
  return file
}

const keyName = 'query KeyName { viewer { keyName } }'
const scopes = 'query Scopes { viewer { scopes } }'
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

/** Reads documents, and collects the warnings. */
function read(...paths: string[]) {
  const warnings: object[] = []
  const log = { error: () => undefined, warn: (details: object) => void warnings.push(details) }
  return { warnings, trustedDocuments: readTrustedDocuments({ paths, others: 'reject' }, schemas.schema, log) }
}

/** A gateway that executes only the trusted documents of files. */
async function start(...paths: string[]) {
  const gateway = await shared.startAnother({ trustedDocuments: read(...paths).trustedDocuments })
  return {
    /** Sends the id of a document, and returns the status of the response. */
    async send(documentId: string) {
      const headers = { 'x-api-key': tenant.key }
      return (await gateway.app.inject({ method: 'POST', url: '/graphql', headers, payload: { documentId } }))
        .statusCode
    },
    [Symbol.asyncDispose]: () => gateway.close(),
  }
}

describe('trusted documents come from', () => {
  it('files of GraphQL Codegen, Relay and Apollo together', async () => {
    const codegen = write('codegen.json', { [`sha256:${sha256(keyName)}`]: keyName })
    const relay = write('relay.json', { '0a1b': scopes })
    const operations = [
      { id: 'c0ffee', name: 'Names', type: 'query', body: 'query Names { viewer { keyName scopes } }' },
    ]
    const apollo = write('apollo.json', { format: 'apollo-persisted-query-manifest', version: 1, operations })
    await using gateway = await start(codegen, relay, apollo)
    const ids = [sha256(keyName), '0a1b', 'c0ffee', 'other']
    expect(await Promise.all(ids.map(gateway.send))).toEqual([200, 200, 200, 403])
  })

  it('the JSON files of a folder, but not from hidden ones', async () => {
    write('web.json', { web: keyName })
    write('app.json', { app: scopes })
    write('.app.json', { draft: scopes })
    write('README.md', 'Not a file of documents.')
    await using gateway = await start(folder)
    expect(await Promise.all(['web', 'app', 'draft'].map(gateway.send))).toEqual([200, 200, 403])
  })

  it('two files with the same document under one id', async () => {
    await using gateway = await start(write('web.json', { one: keyName }), write('app.json', { one: keyName }))
    expect(await gateway.send('one')).toBe(200)
  })
})

describe('the gateway does not start', () => {
  it('if two files have different documents with one id, and names both', async () => {
    const [web, app] = [write('web.json', { one: keyName }), write('app.json', { one: scopes })]
    expect(() => read(web, app)).toThrow(
      `TRUSTED_DOCUMENTS: ${web} and ${app} have different documents with the id "one".`,
    )
  })

  it.each([
    ['is missing', undefined, /no such file/],
    ['is not JSON', '{', /JSON/],
    ['is a list', '[]', /must be a JSON object/],
    ['contains other values', '{"a": 1}', /must be a JSON object/],
    [
      'is a manifest without texts',
      '{"format": "apollo-persisted-query-manifest", "operations": [{}]}',
      /must be a JSON/,
    ],
  ])('if a file %s', (_, content, message) => {
    write('good.json', { web: keyName })
    const file = content === undefined ? path.join(folder, 'missing.json') : write('bad.json', content)
    for (const entry of content === undefined ? [file] : [file, folder]) {
      expect(() => read(entry)).toThrow(`TRUSTED_DOCUMENTS cannot be read: ${file}: `)
      expect(() => read(entry)).toThrow(message)
    }
  })

  it('but it starts with documents that do not match the schema, and logs them', () => {
    const { warnings, trustedDocuments } = read(write('old.json', { old: '{ gone }', broken: '{' }))
    expect(warnings).toMatchObject([{ documentId: 'old' }, { documentId: 'broken' }])
    expect([...trustedDocuments.byId.keys()]).toEqual(['old', 'broken'])
  })
})

it('a ConfigMap of Kubernetes can be read, whose files are links into a hidden folder', () => {
  mkdirSync(path.join(folder, '..2026_11_22'))
  write('..2026_11_22/web.json', { web: keyName })
  symlinkSync('..2026_11_22', path.join(folder, '..data'))
  symlinkSync('..data/web.json', path.join(folder, 'web.json'))
  expect(read(folder).trustedDocuments.byId).toEqual(new Map([['web', keyName]]))
})

it('the gateway takes several files and folders', async () => {
  const web = write('web.json', { web: keyName })
  mkdirSync(path.join(folder, 'apps'))
  write('apps/app.json', { app: scopes })
  const { trusted } = readConfig({ TRUSTED_DOCUMENTS: `${web}, ${path.join(folder, 'apps')}` })
  await using gateway = await start(...(trusted?.paths ?? []))
  expect(await Promise.all(['web', 'app', 'other'].map(gateway.send))).toEqual([200, 200, 403])
})
