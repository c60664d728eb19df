import { readFileSync } from 'node:fs'
import { parse, validate } from 'graphql'
import type { Logger } from '../context.ts'
import { OperatorError } from '../operator.ts'
import { schema } from './schema.ts'

/** Documents that clients were built with, by the ids that they send for them. */
export interface TrustedDocuments {
  /** What becomes of a document that is not among them: it runs and is logged, or it is refused. */
  readonly others: 'log' | 'refuse'
  readonly byId: ReadonlyMap<string, string>
  /** Their texts. */
  readonly texts: ReadonlySet<string>
}

/**
 * Reads the file that GraphQL Codegen (`persistedDocuments`) and Relay (`persistConfig`) write: a JSON object of texts by
 * id. A document that the schema no longer knows is warned of, since an old client may still send its id.
 *
 * @throws OperatorError when the file cannot be read, or is not that
 */
export function readTrustedDocuments(file: string, others: TrustedDocuments['others'], log: Logger): TrustedDocuments {
  const byId = new Map(Object.entries(readMap(file)))
  for (const [id, text] of byId) {
    const problem = problemOf(text)
    if (problem !== undefined) log.warn({ documentId: id, problem }, 'a trusted document is not valid')
  }
  return { others, byId, texts: new Set(byId.values()) }
}

function readMap(file: string): Record<string, string> {
  let content: unknown
  try {
    content = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new OperatorError(`TRUSTED_DOCUMENTS cannot be read: ${error instanceof Error ? error.message : error}`)
  }
  const isMap = typeof content === 'object' && content !== null && !Array.isArray(content)
  if (!isMap || Object.values(content as object).some((text) => typeof text !== 'string')) {
    throw new OperatorError('TRUSTED_DOCUMENTS must be a JSON object of documents by their ids.')
  }
  return content as Record<string, string>
}

function problemOf(text: string): string | undefined {
  try {
    return validate(schema, parse(text))[0]?.message
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
