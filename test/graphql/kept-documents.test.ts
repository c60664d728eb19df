import { createDocumentCache, createPreparer } from '@fusion-gateway/gateway-kit'
import { createMetrics } from '@fusion-gateway/telemetry'
import { expect, it } from 'vitest'
import { schemas } from '../../src/domain/schema.graphql.ts'

/** Keeps a tenth of what the process keeps. The slow variant of this file fills a whole cache. */
const create = () => {
  return createPreparer({
    schemas,
    introspection: true,
    metrics: createMetrics(),
    documents: createDocumentCache(25_000),
  })
}

/** Documents of about 2,000 tokens in 6,000 characters: what is kept of each takes more than a MiB. */
const manyTokens = (at: number) => `query Q${at} { nodes(ids: [${'"x" '.repeat(1_980)}]) { id } }`

/** 10 operations of 4,000 fields each. */
const manyOperations = `
  ${Array.from({ length: 10 }, (_, at) => `query Q${at} { viewer { ...A } }`).join(' ')}
  fragment A on Viewer { ${'...B '.repeat(80)} } fragment B on Viewer { ${'keyName '.repeat(50)} }`

it('keeps fewer documents if they have many tokens', () => {
  const preparer = create()
  for (let at = 0; at < 11; at += 1) preparer.prepare(manyTokens(at))
  expect(preparer.isPrepared(manyTokens(0))).toBe(true)
  for (let at = 11; at < 14; at += 1) preparer.prepare(manyTokens(at))
  expect(preparer.isPrepared(manyTokens(1))).toBe(false)
  expect(preparer.isPrepared(manyTokens(13))).toBe(true)
})

it('does not keep a document whose operations have many fields together', () => {
  const preparer = create()
  const isKept = () => preparer.isPrepared(manyOperations, 'Q0')
  expect(preparer.prepare(manyOperations, 'Q0').errors).toBeUndefined()
  expect(isKept()).toBe(true)
  for (let at = 1; at < 7 && isKept(); at += 1) preparer.prepare(manyOperations, `Q${at}`)
  expect(isKept()).toBe(false)
})

it('keeps the documents of all preparers once, and the errors of one that may not introspect apart', () => {
  const [documents, metrics] = [createDocumentCache(), createMetrics()]
  const [open, other, strict] = [true, true, false].map((introspection) =>
    createPreparer({ schemas, introspection, metrics, documents }),
  )
  const text = '{ __schema { description } }'
  expect(strict?.prepare(text).errors).toHaveLength(1)
  expect(open?.prepare(text).errors).toBeUndefined()
  expect(other?.isPrepared(text)).toBe(true)
  expect(strict?.prepare(text).errors).toHaveLength(1)
  expect(documents.size).toBe(1)
})

it('knows which operations of a document are prepared', () => {
  const preparer = create()
  const text = 'query A { viewer { keyName } } query B { viewer { keyName } }'
  expect(preparer.isPrepared(text, 'A')).toBe(false)
  preparer.prepare(text, 'A')
  expect(preparer.isPrepared(text, 'A')).toBe(true)
  expect(preparer.isPrepared(text, 'B')).toBe(false)
})
