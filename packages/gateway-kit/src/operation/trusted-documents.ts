import { readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { OperatorError } from '@fusion-gateway/base'
import type { Logger } from '@fusion-gateway/telemetry'
import { type GraphQLSchema, parse, validate } from 'graphql'
import { z } from 'zod'

/** The documents of clients, as their builds have collected them. */
export interface TrustedDocuments {
  /** Whether other documents are executed and logged, or rejected. */
  readonly others: 'log' | 'reject'
  readonly byId: ReadonlyMap<string, string>
  readonly texts: ReadonlySet<string>
}

export interface TrustedDocumentsSettings extends Pick<TrustedDocuments, 'others'> {
  /** Files, and folders of JSON files. */
  readonly paths: readonly string[]
}

/**
 * Reads files of documents. Documents that are invalid in this schema are logged and kept, because an old client may
 * send their ids.
 *
 * @throws OperatorError if a file cannot be read or has another format, or two have different documents with the same
 *   id
 */
export function readTrustedDocuments(
  { paths, others }: TrustedDocumentsSettings,
  schema: GraphQLSchema,
  log: Pick<Logger, 'warn'>,
): TrustedDocuments {
  const byId = new Map<string, string>()
  const fileOf = new Map<string, string>()
  for (const file of paths.flatMap((entry) => readFrom(entry, listFiles))) {
    for (const [id, text] of readFrom(file, readDocuments)) {
      if ((byId.get(id) ?? text) !== text) {
        throw new OperatorError(
          `TRUSTED_DOCUMENTS: ${fileOf.get(id)} and ${file} have different documents with the id ${JSON.stringify(id)}.`,
        )
      }
      byId.set(id, text)
      fileOf.set(id, file)
    }
  }
  for (const [documentId, text] of byId) {
    const problem = problemOf(schema, text)
    if (problem !== undefined) log.warn({ documentId, problem }, 'a trusted document is invalid')
  }
  return { others, byId, texts: new Set(byId.values()) }
}

/** A file, or the JSON files of a folder without its subfolders and hidden files. */
function listFiles(entry: string): string[] {
  if (!statSync(entry).isDirectory()) return [entry]
  const names = readdirSync(entry).filter((name) => name.endsWith('.json') && !name.startsWith('.'))
  return names.toSorted().map((name) => path.join(entry, name))
}

/** The format of GraphQL Codegen (`persistedDocuments`) and Relay (`persistConfig`). */
const documentsById = z.record(z.string(), z.string())

/** The format of Apollo's `generate-persisted-query-manifest`. */
const apolloManifest = z
  .object({
    format: z.literal('apollo-persisted-query-manifest'),
    operations: z.array(z.object({ id: z.string(), body: z.string() })),
  })
  .transform(({ operations }) => Object.fromEntries(operations.map(({ id, body }) => [id, body])))

function readDocuments(file: string): [id: string, text: string][] {
  const { data } = z.union([apolloManifest, documentsById]).safeParse(JSON.parse(readFileSync(file, 'utf8')))
  if (!data) throw new Error('It must be a JSON object of documents by their ids, or a manifest of Apollo.')
  return Object.entries(data)
}

/** @throws OperatorError that names the file or folder if it cannot be read */
function readFrom<Result>(file: string, read: (file: string) => Result): Result {
  try {
    return read(file)
  } catch (error) {
    throw new OperatorError(`TRUSTED_DOCUMENTS cannot be read: ${file}: ${(error as Error).message}`)
  }
}

function problemOf(schema: GraphQLSchema, text: string): string | undefined {
  try {
    return validate(schema, parse(text))[0]?.message
  } catch (error) {
    return (error as Error).message
  }
}
