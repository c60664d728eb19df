import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { schemas } from '../../src/domain/schema.graphql.ts'
import { followTrustedDocuments, type TrustedDocuments } from '../../src/engine/graphql/http/trusted-documents.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { startGateway } from '../support/cli.ts'
import { createDataDir } from '../support/data-dir.ts'

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

/** Creates or replaces a file of the folder in one step, and returns its path. */
function write(name: string, content: unknown): string {
  const file = path.join(folder, name)
  writeFileSync(`${file}.new`, typeof content === 'string' ? content : JSON.stringify(content))
  renameSync(`${file}.new`, file)
  return file
}

const keyName = 'query KeyName { viewer { keyName } }'
const scopes = 'query Scopes { viewer { scopes } }'
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

type Line = Record<string, unknown> & { message: string }

/** A log whose next lines a test can await. */
function createLog() {
  const lines: Line[] = []
  const waiting = new Set<() => void>()
  const add = (details: object, message: string) => {
    lines.push({ ...details, message })
    for (const look of waiting) look()
  }
  return {
    lines,
    info: add as never,
    warn: add as never,
    /** Waits for a line, and takes it from the log. */
    next: (message: string) =>
      new Promise<Line>((resolve) => {
        const look = () => {
          const found = lines.findIndex((line) => line.message.includes(message))
          if (found < 0) return
          waiting.delete(look)
          const [line] = lines.splice(found, 1)
          resolve(line as Line)
        }
        waiting.add(look)
        look()
      }),
  }
}

/** A gateway that executes only the trusted documents of files, which it compares often. */
async function follow(...paths: string[]) {
  const log = createLog()
  const trusted: TrustedDocuments = await followTrustedDocuments({ paths, others: 'reject' }, schemas.schema, log, 10)
  const gateway = await shared.startAnother({ trustedDocuments: trusted })
  return {
    log,
    trusted,
    /** Sends the id of a document, or a text, and returns the status of the answer. */
    async send(document: string) {
      const payload = document.startsWith('query') ? { query: document } : { documentId: document }
      const headers = { 'x-api-key': tenant.key }
      return (await gateway.app.inject({ method: 'POST', url: '/graphql', headers, payload })).statusCode
    },
    async [Symbol.asyncDispose]() {
      await trusted.close()
      await gateway.close()
    },
  }
}

const hasChanged = 'the trusted documents have changed'
const isUnreadable = 'cannot be read'

describe('trusted documents come from', () => {
  it('files of GraphQL Codegen, Relay and Apollo together', async () => {
    const codegen = write('codegen.json', { [`sha256:${sha256(keyName)}`]: keyName })
    const relay = write('relay.json', { '0a1b': scopes })
    const operations = [
      { id: 'c0ffee', name: 'Names', type: 'query', body: 'query Names { viewer { keyName scopes } }' },
    ]
    const apollo = write('apollo.json', { format: 'apollo-persisted-query-manifest', version: 1, operations })
    await using gateway = await follow(codegen, relay, apollo)
    const ids = [sha256(keyName), '0a1b', 'c0ffee', 'other']
    expect(await Promise.all(ids.map(gateway.send))).toEqual([200, 200, 200, 403])
  })

  it('the JSON files of a folder, but not from hidden ones', async () => {
    write('web.json', { web: keyName })
    write('app.json', { app: scopes })
    write('.app.json', { draft: scopes })
    write('README.md', 'Not a file of documents.')
    await using gateway = await follow(folder)
    expect(await Promise.all(['web', 'app', 'draft'].map(gateway.send))).toEqual([200, 200, 403])
  })

  it('two files with the same document under one id', async () => {
    await using gateway = await follow(write('web.json', { one: keyName }), write('app.json', { one: keyName }))
    expect(await gateway.send('one')).toBe(200)
  })
})

describe('the gateway does not start', () => {
  const start = (...paths: string[]) => followTrustedDocuments({ paths, others: 'reject' }, schemas.schema, createLog())

  it('if two files have different documents with one id, and names both', async () => {
    const [web, app] = [write('web.json', { one: keyName }), write('app.json', { one: scopes })]
    await expect(start(web, app)).rejects.toThrow(
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
  ])('if a file %s', async (_, content, message) => {
    write('good.json', { web: keyName })
    const file = content === undefined ? path.join(folder, 'missing.json') : write('bad.json', content)
    for (const entry of content === undefined ? [file] : [file, folder]) {
      const started = start(entry)
      await expect(started).rejects.toThrow(`TRUSTED_DOCUMENTS cannot be read: ${file}: `)
      await expect(started).rejects.toThrow(message)
    }
  })

  it('but it starts with documents that do not match the schema, and logs them', async () => {
    const log = createLog()
    const file = write('old.json', { old: '{ gone }', broken: '{' })
    const trusted = await followTrustedDocuments({ paths: [file], others: 'reject' }, schemas.schema, log)
    await trusted.close()
    expect(log.lines).toMatchObject([{ documentId: 'old' }, { documentId: 'broken' }])
  })
})

describe('without a restart, the gateway follows', () => {
  it('files that appear in a folder, change and disappear', async () => {
    write('web.json', { web: keyName })
    await using gateway = await follow(folder)
    expect(await Promise.all(['web', 'app'].map(gateway.send))).toEqual([200, 403])

    const app = write('app.json', { app: scopes })
    expect(await gateway.log.next(hasChanged)).toMatchObject({ documents: 2 })
    expect(await Promise.all(['web', 'app'].map(gateway.send))).toEqual([200, 200])

    write('app.json', { app2: scopes })
    await gateway.log.next(hasChanged)
    expect(await Promise.all(['web', 'app', 'app2'].map(gateway.send))).toEqual([200, 403, 200])

    rmSync(app)
    await gateway.log.next(hasChanged)
    expect(await Promise.all(['web', 'app2'].map(gateway.send))).toEqual([200, 403])
  })

  it('a file that is written in place', async () => {
    const file = write('web.json', { web: keyName })
    await using gateway = await follow(file)
    writeFileSync(file, JSON.stringify({ next: scopes }))
    await gateway.log.next(hasChanged)
    expect(await Promise.all(['web', keyName, 'next', scopes].map(gateway.send))).toEqual([403, 403, 200, 200])
  })

  it('a ConfigMap of Kubernetes, whose files are links into a folder that is replaced', async () => {
    const publish = (version: string, documents: object) => {
      mkdirSync(path.join(folder, version))
      write(`${version}/web.json`, documents)
      symlinkSync(version, path.join(folder, '..data_tmp'))
      renameSync(path.join(folder, '..data_tmp'), path.join(folder, '..data'))
    }
    publish('..2026_11_22', { web: keyName })
    const link = path.join(folder, 'web.json')
    symlinkSync('..data/web.json', link)
    for (const [entry, version] of [
      [folder, '..2026_11_23'],
      [link, '..2026_11_24'],
    ] as const) {
      await using gateway = await follow(entry)
      publish(version, { [version]: keyName })
      await gateway.log.next(hasChanged)
      expect(await gateway.send(version)).toBe(200)
    }
  })

  it('and logs the new documents that do not match the schema', async () => {
    const file = write('web.json', { old: '{ gone }' })
    await using gateway = await follow(file)
    await gateway.log.next('a trusted document is invalid')
    write('web.json', { old: '{ gone }', new: '{ goneToo }' })
    expect(await gateway.log.next('a trusted document is invalid')).toMatchObject({ documentId: 'new' })
  })
})

describe('the gateway keeps the documents that it has read', () => {
  it('while a changed file cannot be parsed, names the file once, and follows the others', async () => {
    const [web, app] = [write('web.json', { web: keyName }), write('app.json', { app: scopes })]
    await using gateway = await follow(web, app)
    write('web.json', '{ "web": ')
    expect(await gateway.log.next(isUnreadable)).toMatchObject({ file: web, problem: expect.stringContaining('JSON') })
    expect(await gateway.send('web')).toBe(200)

    write('app.json', { app2: scopes })
    await gateway.log.next(hasChanged)
    expect(await Promise.all(['web', 'app', 'app2'].map(gateway.send))).toEqual([200, 403, 200])

    write('web.json', { web2: keyName })
    await gateway.log.next(hasChanged)
    expect(await Promise.all(['web', 'web2', 'app2'].map(gateway.send))).toEqual([403, 200, 200])
    expect(gateway.log.lines).toEqual([])
  })

  it('while a file or folder of the configuration is missing', async () => {
    const file = write('web.json', { web: keyName })
    const apps = path.join(folder, 'apps')
    mkdirSync(apps)
    write('apps/app.json', { app: scopes })
    await using gateway = await follow(file, apps)
    rmSync(file)
    expect(await gateway.log.next(isUnreadable)).toMatchObject({ file })
    renameSync(apps, `${apps}.old`)
    expect(await gateway.log.next(isUnreadable)).toMatchObject({ file: apps })
    expect(await Promise.all(['web', 'app'].map(gateway.send))).toEqual([200, 200])
    write('web.json', { next: keyName })
    await gateway.log.next(hasChanged)
    expect(await Promise.all(['web', 'next', 'app'].map(gateway.send))).toEqual([403, 200, 200])
  })

  it('while two files have different documents with one id, and names both', async () => {
    const [web, app] = [write('web.json', { one: keyName }), write('app.json', { app: scopes })]
    await using gateway = await follow(web, app)
    write('app.json', { one: scopes })
    const { problem } = await gateway.log.next('contradict each other')
    expect(problem).toBe(`TRUSTED_DOCUMENTS: ${web} and ${app} have different documents with the id "one".`)
    expect(await Promise.all(['one', 'app'].map(gateway.send))).toEqual([200, 200])
    write('app.json', { two: scopes })
    await gateway.log.next(hasChanged)
    expect(await Promise.all(['one', 'app', 'two'].map(gateway.send))).toEqual([200, 403, 200])
  })
})

it('a closed gateway no longer follows', async () => {
  const file = write('web.json', { web: keyName })
  const { log, trusted, ...closed } = await follow(file)
  await closed[Symbol.asyncDispose]()
  await using other = await follow(file)
  for (const id of ['first', 'second', 'third']) {
    write('web.json', { [id]: keyName })
    await other.log.next(hasChanged)
  }
  expect(log.lines).toEqual([])
  expect([...trusted.byId.keys()]).toEqual(['web'])
})

it('`fusion serve` takes several files and folders, follows them, and stops', async () => {
  const [dataDir, web] = [createDataDir(), write('web.json', { web: keyName })]
  mkdirSync(path.join(folder, 'apps'))
  const paths = `${web}, ${path.join(folder, 'apps')}`
  const gateway = await startGateway({ DATA_DIR: dataDir, TRUSTED_DOCUMENTS: paths })
  onTestFinished(async () => {
    if (gateway.child.exitCode === null) await gateway.stop()
    rmSync(dataDir, { recursive: true })
  })
  const send = async (documentId: string) => {
    const headers = { 'content-type': 'application/json', 'x-api-key': key }
    const answer = await fetch(`${gateway.address}/graphql`, {
      ...{ method: 'POST', headers },
      body: JSON.stringify({ documentId }),
    })
    return answer.status
  }
  const key = /x-api-key: (\S+)/.exec(gateway.output())?.[1] ?? ''
  expect(await Promise.all(['web', 'app'].map(send))).toEqual([200, 403])

  const changed = new Promise<void>((resolve) => {
    gateway.child.stdout?.on('data', () => {
      if (gateway.output().includes(hasChanged)) resolve()
    })
  })
  write('apps/app.json', { app: scopes })
  await changed
  expect(await Promise.all(['web', 'app'].map(send))).toEqual([200, 200])
  expect((await gateway.stop()).code).toBe(0)
})
