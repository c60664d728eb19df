import { setImmediate } from 'node:timers/promises'
import { type GraphQLSchema, parse, validate } from 'graphql'
import type { Logger as PinoLogger } from 'pino'
import { OperatorError } from '../../errors.ts'
import { type Documents, listDocumentFiles, readDocumentFile } from './document-files.ts'

/** The documents of clients, as their builds have collected them. */
export interface TrustedDocuments {
  /** Whether other documents are executed and logged, or rejected. */
  readonly others: 'log' | 'reject'
  /** The documents that are trusted now. Do not keep it: after a change of a file it is another map. */
  readonly byId: Documents
  /** The texts of these documents. */
  readonly texts: ReadonlySet<string>
  /** Stops following the files. */
  close(): Promise<void>
}

export interface TrustedDocumentsSettings {
  /** Files, and folders of JSON files. */
  readonly paths: readonly string[]
  readonly others: TrustedDocuments['others']
}

/** A file with documents that could be read. */
interface DocumentFile {
  /** The file or folder of the settings that it comes from. */
  readonly entry: string
  readonly version: string
  readonly documents: Documents
}

type DocumentFiles = ReadonlyMap<string, DocumentFile>

/** Called with a file or folder that cannot be read. If it returns, the documents that are known from there stay. */
type OnUnreadable = (file: string, error: unknown) => void

type Log = Pick<PinoLogger, 'info' | 'warn'>

/** How late a change of a file is noticed, in milliseconds. */
const defaultPollMilliseconds = 2_000

/**
 * Reads files of documents, and follows their changes. While a changed file cannot be read, or contradicts another one, the last
 * good documents stay and a warning is logged. Documents that are invalid in this schema are logged and kept, because an old
 * client may send their ids.
 *
 * It compares the files by polling: file systems report no changes of mounted folders, or report those of a link that was
 * replaced for the old target.
 *
 * @throws OperatorError if a file cannot be read or has another format, or two have different documents with the same id
 */
export async function followTrustedDocuments(
  { paths, others }: TrustedDocumentsSettings,
  schema: GraphQLSchema,
  log: Log,
  pollMilliseconds = defaultPollMilliseconds,
): Promise<TrustedDocuments> {
  let files = await readChanged(paths, new Map(), (file, error) => {
    throw new OperatorError(`TRUSTED_DOCUMENTS cannot be read: ${file}: ${messageOf(error)}`)
  })
  let byId = merge(files)
  let texts: ReadonlySet<string> = new Set(byId.values())
  let problems = new Map<string, string>()
  await warnOfInvalid(schema, byId, new Set(), log)

  async function update(): Promise<void> {
    const found = new Map<string, string>()
    const changed = await readChanged(paths, files, (file, error) => found.set(file, messageOf(error)))
    for (const [file, problem] of found) {
      // Once, not at every poll.
      if (problems.get(file) !== problem)
        log.warn({ file, problem }, 'trusted documents cannot be read; those read before stay')
    }
    problems = found
    if (areSame(files, changed)) return
    files = changed
    try {
      byId = merge(files)
    } catch (error) {
      log.warn({ problem: messageOf(error) }, 'trusted documents contradict each other; those before stay')
      return
    }
    const before = texts
    texts = new Set(byId.values())
    log.info({ documents: byId.size, files: [...files.keys()] }, 'the trusted documents have changed')
    await warnOfInvalid(schema, byId, before, log)
  }

  let isClosed = false
  let updating = Promise.resolve()
  const timer = setTimeout(() => {
    updating = update().finally(() => {
      if (!isClosed) timer.refresh()
    })
  }, pollMilliseconds).unref()

  return {
    others,
    get byId() {
      return byId
    },
    get texts() {
      return texts
    },
    async close() {
      isClosed = true
      clearTimeout(timer)
      await updating
    },
  }
}

/** Reads the files that are new or have another version than the known ones. */
async function readChanged(
  entries: readonly string[],
  known: DocumentFiles,
  onUnreadable: OnUnreadable,
): Promise<DocumentFiles> {
  const files = new Map<string, DocumentFile>()
  for (const entry of entries) {
    for (const [file, version] of await list(entry)) {
      const before = known.get(file)
      const now = before?.version === version ? before : await read(entry, file, version)
      if (now) files.set(file, now)
    }
  }
  return files

  async function list(entry: string): Promise<[file: string, version: string][]> {
    try {
      return await listDocumentFiles(entry)
    } catch (error) {
      onUnreadable(entry, error)
      return [...known].filter(([, before]) => before.entry === entry).map(([file, { version }]) => [file, version])
    }
  }

  async function read(entry: string, file: string, version: string): Promise<DocumentFile | undefined> {
    try {
      return { entry, version, documents: await readDocumentFile(file) }
    } catch (error) {
      onUnreadable(file, error)
      return known.get(file)
    }
  }
}

/** @throws OperatorError if two files have different documents with the same id */
function merge(files: DocumentFiles): Documents {
  const byId = new Map<string, string>()
  const fileOf = new Map<string, string>()
  for (const [file, { documents }] of files) {
    for (const [id, text] of documents) {
      if ((byId.get(id) ?? text) !== text) {
        throw new OperatorError(
          `TRUSTED_DOCUMENTS: ${fileOf.get(id)} and ${file} have different documents with the id ${JSON.stringify(id)}.`,
        )
      }
      byId.set(id, text)
      fileOf.set(id, file)
    }
  }
  return byId
}

function areSame(some: DocumentFiles, others: DocumentFiles): boolean {
  return some.size === others.size && [...some].every(([file, content]) => others.get(file) === content)
}

/** Logs the documents that are invalid in this schema, except for those that are known. Requests run in between. */
async function warnOfInvalid(
  schema: GraphQLSchema,
  byId: Documents,
  known: ReadonlySet<string>,
  log: Log,
): Promise<void> {
  for (const [documentId, text] of byId) {
    if (known.has(text)) continue
    const problem = problemOf(schema, text)
    if (problem !== undefined) log.warn({ documentId, problem }, 'a trusted document is invalid')
    await setImmediate()
  }
}

function problemOf(schema: GraphQLSchema, text: string): string | undefined {
  try {
    return validate(schema, parse(text))[0]?.message
  } catch (error) {
    return messageOf(error)
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
