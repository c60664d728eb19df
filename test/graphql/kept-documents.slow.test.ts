import { createPreparer } from '@fusion-gateway/gateway-kit'
import { createMetrics } from '@fusion-gateway/telemetry'
import { expect, it } from 'vitest'
import { schemas } from '../../src/domain/schema.graphql.ts'

const create = () => createPreparer({ schemas, introspection: true, metrics: createMetrics() })

/** Documents of about 2,000 tokens in 6,000 characters: what is kept of each takes more than a MiB. */
const manyTokens = (at: number) => `query Q${at} { nodes(ids: [${'"x" '.repeat(1_980)}]) { id } }`

/** 150 operations of 4,000 fields each. */
const manyOperations = `
  ${Array.from({ length: 150 }, (_, at) => `query Q${at} { viewer { ...A } }`).join(' ')}
  fragment A on Viewer { ${'...B '.repeat(80)} } fragment B on Viewer { ${'keyName '.repeat(50)} }`

it('keeps about a hundred documents that have many tokens', () => {
  const preparer = create()
  for (let at = 0; at < 110; at += 1) preparer.prepare(manyTokens(at))
  expect(preparer.isPrepared(manyTokens(0))).toBe(true)
  for (let at = 110; at < 140; at += 1) preparer.prepare(manyTokens(at))
  expect(preparer.isPrepared(manyTokens(1))).toBe(false)
  expect(preparer.isPrepared(manyTokens(139))).toBe(true)
})

it('does not keep a document whose operations have a quarter of a million fields together', () => {
  const preparer = create()
  const isKept = () => preparer.isPrepared(manyOperations, 'Q0')
  expect(preparer.prepare(manyOperations, 'Q0').errors).toBeUndefined()
  expect(isKept()).toBe(true)
  for (let at = 1; at < 70 && isKept(); at += 1) preparer.prepare(manyOperations, `Q${at}`)
  expect(isKept()).toBe(false)
})
