import { createHash } from 'node:crypto'
import { globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createDocumentFinder, readTrustedDocuments, type TrustedDocuments } from '@fusion-gateway/gateway-kit'
import {
  buildClientSchema,
  buildSchema,
  getIntrospectionQuery,
  lexicographicSortSchema,
  parse,
  printSchema,
  validate,
} from 'graphql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { schemas } from '../../src/domain/schema.graphql.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { projectRoot, readPage } from '../support/docs.ts'

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

const folder = mkdtempSync(path.join(tmpdir(), 'fusion-documents-'))
let shared: TestApp
/** The gateways without trusted documents, by their options. */
const gateways = new Map<string, Promise<TestApp>>()
beforeAll(async () => {
  shared = await startTestApp()
})
afterAll(async () => {
  for (const gateway of gateways.values()) await (await gateway).close()
  await shared.close()
  rmSync(folder, { recursive: true })
})

/** Runs `work` with a tenant of its own, and a gateway of its own if it trusts documents. */
async function withApp(
  options: NonNullable<Parameters<TestApp['startAnother']>[0]>,
  work: (app: TestApp, tenant: TestTenant) => unknown,
) {
  if (!options.trustedDocuments) {
    const key = JSON.stringify(options)
    const gateway = gateways.get(key) ?? shared.startAnother(options)
    gateways.set(key, gateway)
    const app = await gateway
    await work(app, await app.createTenant())
    return
  }
  const app = await shared.startAnother(options)
  try {
    await work(app, await app.createTenant())
  } finally {
    await app.close()
  }
}

function post({ app }: TestApp, { key }: TestTenant, payload: object) {
  return app.inject({ method: 'POST', url: '/graphql', headers: { 'x-api-key': key }, payload })
}

function get({ app }: TestApp, { key }: TestTenant, search: Record<string, unknown>) {
  const texts = Object.entries(search).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ])
  return app.inject({ url: `/graphql?${new URLSearchParams(texts)}`, headers: { 'x-api-key': key } })
}

const query = 'query Mine { viewer { keyName } }'
const persisted = (text: string) => ({ persistedQuery: { version: 1, sha256Hash: sha256(text) } })

describe('automatic persisted queries', () => {
  it('are stored by the first valid request, and then run by their hash with POST and GET', () =>
    withApp({}, async (app, tenant) => {
      const unknown = await post(app, tenant, { extensions: persisted(query) })
      expect([unknown.statusCode, unknown.json()]).toEqual([
        200,
        { errors: [{ message: 'PersistedQueryNotFound', extensions: { code: 'PERSISTED_QUERY_NOT_FOUND' } }] },
      ])
      expect((await post(app, tenant, { query, extensions: persisted(query) })).json().errors).toBeUndefined()
      const data = { viewer: { keyName: `key of ${tenant.name}` } }
      for (let run = 0; run < 2; run += 1) {
        expect((await post(app, tenant, { extensions: persisted(query) })).json()).toMatchObject({ data })
        expect((await get(app, tenant, { extensions: persisted(query) })).json()).toMatchObject({ data })
      }
    }))

  it('are not stored if the hash belongs to another text or the document is invalid', () =>
    withApp({}, async (app, tenant) => {
      const other = await post(app, tenant, { query, extensions: persisted('{ nobody }') })
      expect([other.statusCode, other.json().errors[0].extensions.code]).toEqual([400, 'MALFORMED_REQUEST'])
      await post(app, tenant, { query: '{ nobody }', extensions: persisted('{ nobody }') })
      const again = await post(app, tenant, { extensions: persisted('{ nobody }') })
      expect(again.json().errors[0].message).toBe('PersistedQueryNotFound')
      for (const sha256Hash of [5, {}, []]) {
        const response = await post(app, tenant, { extensions: { persistedQuery: { version: 1, sha256Hash } } })
        expect(response.statusCode).toBe(400)
      }
    }))

  it('belong to their tenant', () =>
    withApp({}, async (app, tenant) => {
      await post(app, tenant, { query, extensions: persisted(query) })
      const response = await post(app, await app.createTenant(), { extensions: persisted(query) })
      expect(response.json().errors[0].message).toBe('PersistedQueryNotFound')
      expect((await post(app, tenant, { extensions: persisted(query) })).json().errors).toBeUndefined()
    }))

  it('are evicted only by their own tenant, and all together are bounded', () => {
    const documents = createDocumentFinder(undefined)
    const store = (tenant: string, text: string) =>
      documents.store({ query: text, extensions: persisted(text) }, tenant)
    const find = (tenant: string, text: string) =>
      documents.find({ extensions: persisted(text) }, tenant, shared.app.log).query
    store('careful', query)
    for (let number = 0; number < 1_100; number += 1) store('busy', `{ viewer { keyName } } # ${number}`)
    expect(find('careful', query)).toBe(query)
    expect(find('busy', '{ viewer { keyName } } # 1099')).toContain('1099')
    expect(() => find('busy', '{ viewer { keyName } } # 0')).toThrow('PersistedQueryNotFound')
    for (let number = 0; number < 300; number += 1) store(`tenant ${number}`, query)
    expect(() => find('careful', query)).toThrow('PersistedQueryNotFound')
    expect(find('tenant 299', query)).toBe(query)
  })

  it('of mutations do not run by GET', () =>
    withApp({}, async (app, tenant) => {
      const mutation = 'mutation { createUser(input: { name: "a", email: "a@b.c", phone: "1" }) { user { id } } }'
      await post(app, tenant, { query: mutation, extensions: persisted(mutation) })
      expect((await get(app, tenant, { extensions: persisted(mutation) })).statusCode).toBe(405)
      expect(await app.database.prisma.user.count({ where: { tenantAppId: tenant.tenantAppId } })).toBe(1)
    }))
})

describe('trusted documents', () => {
  /** Trusts the documents of one file. */
  function trust(documents: object, others: TrustedDocuments['others']): TrustedDocuments {
    const file = path.join(folder, 'documents.json')
    writeFileSync(file, JSON.stringify(documents))
    const log = { error: () => undefined, warn: () => undefined }
    return readTrustedDocuments({ paths: [file], others }, schemas.schema, log)
  }
  const documents = { [sha256(query)]: query, relay_1: 'query Other { viewer { scopes } }' }

  it('run by id, hash and text, and no other document runs', async () =>
    withApp({ trustedDocuments: trust(documents, 'reject') }, async (app, tenant) => {
      const data = { viewer: { keyName: `key of ${tenant.name}` } }
      const requests = [
        { documentId: sha256(query) },
        { documentId: `sha256:${sha256(query)}` },
        { extensions: persisted(query) },
        { query },
      ]
      for (const body of requests) {
        expect((await post(app, tenant, body)).json()).toMatchObject({ data })
        expect((await get(app, tenant, body)).json()).toMatchObject({ data })
      }
      expect((await post(app, tenant, { documentId: 'relay_1' })).json().errors).toBeUndefined()
      const others: { query?: string; documentId?: string; extensions?: object }[] = [
        { query: '{ viewer { keyName } }' },
        { query: `${query} ` },
        { query: '{ __schema { types { name } } }' },
        { query: '{ viewer { keyName } }', extensions: persisted('{ viewer { keyName } }') },
        { documentId: 'nobody' },
        { documentId: '__proto__' },
        { documentId: 'constructor' },
        {},
      ]
      const statements = await app.statementsOf(async () => {
        for (const body of others) {
          for (const response of [await post(app, tenant, body), await get(app, tenant, body)]) {
            expect(response.statusCode).toBe(403)
            const name = body.query === undefined ? JSON.stringify(body.documentId ?? '') : sha256(body.query)
            const message = response.json().errors[0].message
            expect(response.json().errors).toEqual([{ message, extensions: { code: 'DOCUMENT_NOT_TRUSTED' } }])
            expect(message).toMatch(
              /^Only trusted documents are executed, and .* TRUSTED_DOCUMENTS and restart the gateway\.$/,
            )
            expect(message).toContain(name)
          }
        }
      })
      expect(statements).toEqual([])
      // REST runs its stored operations.
      expect((await app.rest(tenant, 'GET', '/users?limit=1')).statusCode).toBe(200)
    }))

  it.each([
    ['of hashes', ''],
    ['of hashes with the prefix of GraphQL Codegen', 'sha256:'],
  ])('in a file %s run by their hash with and without the prefix', async (_, prefix) => {
    const trustedDocuments = trust({ [prefix + sha256(query)]: query }, 'reject')
    await withApp({ trustedDocuments }, async (app, tenant) => {
      const data = { viewer: { keyName: `key of ${tenant.name}` } }
      for (const hash of [sha256(query), `sha256:${sha256(query)}`]) {
        const extensions = { persistedQuery: { version: 1, sha256Hash: hash } }
        expect((await post(app, tenant, { extensions })).json()).toMatchObject({ data })
        expect((await post(app, tenant, { documentId: hash })).json()).toMatchObject({ data })
      }
    })
  })

  it('are not logged if the gateway logs all other documents', async () =>
    withApp({ trustedDocuments: trust(documents, 'log') }, async (app, tenant) => {
      const lines = () => app.log.filter(({ msg }) => msg === 'a document is not trusted')
      await post(app, tenant, { documentId: 'relay_1' })
      await post(app, tenant, { query })
      expect(lines()).toEqual([])
      const other = '{ viewer { scopes } }'
      expect((await post(app, tenant, { query: other })).json().errors).toBeUndefined()
      expect(lines()).toMatchObject([{ documentHash: sha256(other) }])
    }))

  it('leave room for automatic persisted queries if other documents are executed, which are logged each time', async () =>
    withApp({ trustedDocuments: trust(documents, 'log') }, async (app, tenant) => {
      const lines = () => app.log.filter(({ msg }) => msg === 'a document is not trusted')
      const other = 'query Apq { viewer { scopes } }'
      const unknown = await post(app, tenant, { extensions: persisted(other) })
      expect(unknown.json().errors).toMatchObject([{ message: 'PersistedQueryNotFound' }])
      await post(app, tenant, { query: other, extensions: persisted(other) })
      for (const send of [post, get]) {
        expect((await send(app, tenant, { extensions: persisted(other) })).json().errors).toBeUndefined()
      }
      expect(lines().map(({ documentHash }) => documentHash)).toEqual([1, 2, 3].map(() => sha256(other)))
      // The id of another build does not reject the text that comes with it.
      expect((await post(app, tenant, { documentId: 'old', query: other })).json().errors).toBeUndefined()
      // A trusted document has its own text, and is logged in no way.
      await post(app, tenant, { query, extensions: persisted(query) })
      expect((await post(app, tenant, { extensions: persisted(query) })).json().errors).toBeUndefined()
      expect(lines()).toHaveLength(4)
    }))
})

it('editors find the schema and the operations of the project by .graphqlrc.json', () => {
  const { projects } = JSON.parse(readPage('.graphqlrc.json')) as {
    projects: Record<string, { schema: string; documents: string[] }>
  }
  for (const { schema, documents } of Object.values(projects)) {
    const files = globSync(documents, { cwd: projectRoot }).map((file) => readPage(file))
    expect(files.length).toBeGreaterThan(0)
    const text = files.join('\n')
    expect(validate(buildSchema(readPage(schema)), parse(text))).toEqual([])
  }
})

describe('GET /schema.graphql', () => {
  const read = ({ app }: TestApp, headers: Record<string, string>) => app.inject({ url: '/schema.graphql', headers })

  it('is the file schema.graphql, with descriptions and directives, and is validated by its ETag', () =>
    withApp({ introspection: true }, async (app, tenant) => {
      const headers = { 'x-api-key': tenant.key }
      const response = await read(app, headers)
      expect(response.headers).toMatchObject({
        'content-type': 'text/plain; charset=utf-8',
        'cache-control': 'private, no-cache',
      })
      expect(response.body).toBe(readPage('schema.graphql'))
      expect(response.body).toContain('@semanticNonNull')
      const etag = String(response.headers['etag'])
      const again = await read(app, { ...headers, 'if-none-match': etag })
      expect([again.statusCode, again.body]).toEqual([304, ''])
      const compressed = await read(app, { ...headers, 'accept-encoding': 'br' })
      expect(compressed.headers['content-encoding']).toBe('br')
      const other = await app.app.inject({ method: 'POST', url: '/schema.graphql', headers })
      expect([other.statusCode, other.headers['allow']]).toEqual([405, 'GET, HEAD'])
    }))

  it('needs a credential, and the permission to introspect', async () => {
    await withApp({ introspection: true }, async (app) => {
      expect((await read(app, {})).statusCode).toBe(401)
    })
    await withApp({ introspection: false }, async (app, tenant) => {
      const response = await read(app, { 'x-api-key': tenant.key })
      expect(response.json()).toMatchObject({
        status: 403,
        code: 'FORBIDDEN',
        detail: expect.stringContaining('INTROSPECTION'),
      })
      expect((await read(app, {})).statusCode).toBe(401)
    })
    const trustedDocuments = { others: 'reject', byId: new Map(), texts: new Set<string>() } as const
    await withApp({ introspection: true, trustedDocuments }, async (app, tenant) => {
      const response = await read(app, { 'x-api-key': tenant.key })
      expect(response.json()).toMatchObject({ status: 403, detail: expect.stringContaining('trusted documents') })
    })
    await withApp(
      { introspection: true, trustedDocuments: { ...trustedDocuments, others: 'log' } },
      async (app, tenant) => {
        expect((await read(app, { 'x-api-key': tenant.key })).statusCode).toBe(200)
      },
    )
  })
})

describe('without introspection, an error names only what the client sent', () => {
  it.each<[string, object | undefined, string]>([
    ['{ __schema { types { name } } }', undefined, '"__schema"'],
    ['{ users { nodes { nam } } }', undefined, '"nam"'],
    ['{ user(idd: "a") { id } }', undefined, '"idd"'],
    ['{ users { nodes { id } } } fragment A on Usr { id }', undefined, '"Usr"'],
    ['{ users }', undefined, '"users"'],
    ['query ($a: ID!) { users(first: $a) { nodes { id } } }', { a: '1' }, '"$a" or its value'],
    ['query ($f: UserFilter) { users(filter: $f) { nodes { id } } }', { f: { emial: 'a' } }, '"$f" or its value'],
    ['{ users(orderBy: { field: CREATED }) { nodes { id } } }', undefined, '"CREATED"'],
    ['mutation { createUser(input: {}) { user { id } } }', undefined, 'this'],
    [
      'mutation ($i: CreateUserInput!) { createUser(input: $i) { __typename } }',
      { i: { zzz: 'a"b' } },
      '"$i" or its value',
    ],
    [
      'mutation ($i: CreateUserInput!) { createUser(input: $i) { __typename } }',
      { i: { zzz: 'x'.repeat(900) } },
      '"$i" or its value',
    ],
    [
      'query ($f: UserFilter) { users(filter: $f) { totalCount } }',
      { f: { createdAfter: '0000-01-01T00:00:00Z' } },
      '"$f" or its value',
    ],
    ['{ users(filter: { createdAfter: "0000-01-01T00:00:00Z" }) { totalCount } }', undefined, 'this'],
    ['{ users(first: "a\\"b") { totalCount } }', undefined, 'this'],
    ['{ user(id: { b: "\\"" }) { id } }', undefined, 'this'],
  ])('%s', async (text, variables, subject) => {
    await withApp({ introspection: false }, async (app, tenant) => {
      const named = await post(app, tenant, { query: text, variables })
      const again = await post(app, tenant, { query: text, variables })
      expect(again.json()).toEqual(named.json())
      const { errors = [] } = named.json() as { errors?: { message: string; locations?: object[] }[] }
      const hidden = `The schema does not allow ${subject} here. Errors do not say more, because introspection is off.`
      expect(errors.map((error) => error.message)).toContain(hidden)
      expect(errors.every(({ locations }) => locations?.length)).toBe(true)
    })
  })
})

it.each([
  ['{ users(', 'Syntax Error: Expected Name, found <EOF>.'],
  [`{ ${'user(id: "a") { accounts { '.repeat(7)}id ${'} } '.repeat(7)}}`, 'nested more than 12 fields deep'],
])('without introspection, an error that needs no schema says what is wrong: %s', async (query, message) => {
  await withApp({ introspection: false }, async (app, tenant) => {
    expect((await post(app, tenant, { query })).body).toContain(message)
  })
})

it('without introspection, an error that was stored for its idempotency key names nothing either', () =>
  withApp({ introspection: false }, async (app, tenant) => {
    const query = 'mutation ($i: CreateUserInput!) { createUser(input: $i) { __typename } }'
    const request = {
      method: 'POST' as const,
      url: '/graphql',
      headers: { 'x-api-key': tenant.key, 'idempotency-key': 'once' },
      payload: { query, variables: { i: { emial: 'a' } } },
    }
    const first = await app.app.inject(request)
    const replay = await app.app.inject(request)
    expect(replay.headers['idempotent-replayed']).toBe('true')
    expect(replay.json()).toEqual(first.json())
    expect(replay.body).toContain('The schema does not allow')
    expect(replay.body).not.toMatch(/emial|name|String/)
  }))

it('with introspection, the schema that is served is schema.graphql, and errors suggest similar names', () =>
  withApp({ introspection: true }, async (app, tenant) => {
    const introspection = {
      query: getIntrospectionQuery({
        schemaDescription: true,
        specifiedByUrl: true,
        oneOf: true,
        inputValueDeprecation: true,
      }),
    }
    // graphql-js executes the first one, graphql-jit the second.
    for (let run = 1; run <= 2; run += 1) {
      const served = buildClientSchema((await post(app, tenant, introspection)).json().data)
      // Introspection has no directives of fields.
      const page = readPage('schema.graphql').replaceAll(/ @(semanticNonNull|requiresScopes\(.*?\))(?=$| @)/gm, '')
      expect(`${printSchema(lexicographicSortSchema(served))}\n`).toBe(page)
    }
    const near = await post(app, tenant, { query: '{ users { nodes { nam } } }' })
    expect(near.json().errors[0].message).toBe('Cannot query field "nam" on type "User". Did you mean "name"?')
  }))
