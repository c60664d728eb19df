import { readFileSync } from 'node:fs'
import { parse, validate } from 'graphql'
import { OperatorError } from '../../errors.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { schema } from '../operation/schema.ts'

/** The documents of a client, as its build has collected them. */
export interface TrustedDocuments {
  /** Whether other documents are executed and logged, or rejected. */
  readonly others: 'log' | 'reject'
  readonly byId: ReadonlyMap<string, string>
  /** The texts of the documents. */
  readonly texts: ReadonlySet<string>
}

/**
 * Reads the file that GraphQL Codegen (`persistedDocuments`) or Relay (`persistConfig`) writes: a JSON object of documents by
 * their ids. Documents that are invalid in this schema are logged and kept, because an old client may send their ids.
 *
 * @throws OperatorError if the file cannot be read or has another format
 */
export function readTrustedDocuments(file: string, others: TrustedDocuments['others'], log: Logger): TrustedDocuments {
  const byId = new Map(Object.entries(readDocuments(file)))
  for (const [id, text] of byId) {
    const problem = problemOf(text)
    if (problem !== undefined) log.warn({ documentId: id, problem }, 'a trusted document is invalid')
  }
  return { others, byId, texts: new Set(byId.values()) }
}

function readDocuments(file: string): Record<string, string> {
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
