import { readdir, readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import { z } from 'zod'

/** Documents by their ids. */
export type Documents = ReadonlyMap<string, string>

/** What GraphQL Codegen (`persistedDocuments`) and Relay (`persistConfig`) write. */
const documentsById = z.record(z.string(), z.string()).transform((documents) => Object.entries(documents))

/** What Apollo's `generate-persisted-query-manifest` writes. */
const apolloManifest = z
  .object({
    format: z.literal('apollo-persisted-query-manifest'),
    operations: z.array(z.object({ id: z.string(), body: z.string() })),
  })
  .transform(({ operations }) => operations.map(({ id, body }): [string, string] => [id, body]))

const documentFile = z.union([apolloManifest, documentsById])

/**
 * Reads a file of documents.
 *
 * @throws Error if the file cannot be read or has another format
 */
export async function readDocumentFile(file: string): Promise<Documents> {
  const { data } = documentFile.safeParse(JSON.parse(await readFile(file, 'utf8')))
  if (!data) throw new Error('It must be a JSON object of documents by their ids, or a manifest of Apollo.')
  return new Map(data)
}

/**
 * Lists a file, or the JSON files of a folder without its subfolders and hidden files, each with a version that differs after
 * a change. Links are followed, because Kubernetes mounts a ConfigMap as links to a hidden folder.
 *
 * @throws Error if the file or folder is missing or cannot be read
 */
export async function listDocumentFiles(entry: string): Promise<[file: string, version: string][]> {
  if (!(await stat(entry)).isDirectory()) return [[entry, await versionOf(entry)]]
  const names = (await readdir(entry)).filter((name) => name.endsWith('.json') && !name.startsWith('.'))
  const listed = names.toSorted().map(async (name): Promise<[string, string][]> => {
    const file = path.join(entry, name)
    try {
      return [[file, await versionOf(file)]]
    } catch (error) {
      // The file was deleted in the meantime.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
      throw error
    }
  })
  return (await Promise.all(listed)).flat()
}

/** The change time also shows a replaced link, an older file that was moved here, and new permissions. */
async function versionOf(file: string): Promise<string> {
  const { dev, ino, size, mtimeNs, ctimeNs } = await stat(file, { bigint: true })
  return [dev, ino, size, mtimeNs, ctimeNs].join(' ')
}
