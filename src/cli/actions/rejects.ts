import { fstatSync, type Stats } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { finished } from 'node:stream/promises'
import { OperatorError } from '../../engine/errors.ts'
import type { Rejection } from '../../transfer/import.ts'
import type { Io } from '../io.ts'
import { writeTo } from './write-to.ts'

/** Where an import reports the records that it rejects: on stderr, and in a file if one is given. */
export interface Rejects {
  readonly count: number
  add(rejection: Rejection): Promise<void>
  /** Completes the file. */
  end(): Promise<void>
}

/**
 * Creates the file of rejected records, for its owner only.
 *
 * @throws OperatorError if it cannot be written
 */
export async function createRejects({ stderr }: Pick<Io, 'stderr'>, file: string | undefined): Promise<Rejects> {
  const stream = file === undefined ? undefined : await createFile(file)
  // The next write, or the end, throws the error.
  stream?.on('error', () => undefined)
  let count = 0
  return {
    get count() {
      return count
    },
    async add(rejection) {
      count += 1
      await writeTo(stderr, `${describe(rejection)}\n`)
      if (stream) await writeTo(stream, `${JSON.stringify(rejection)}\n`)
    },
    async end() {
      if (stream) await finished(stream.end())
    },
  }
}

/** `users.ndjson:1: users[12] "usr_1": name: must not be blank`, in one line whatever the id and the reason contain. */
function describe({ file, line, list, index, id, reason }: Rejection): string {
  const place = list === undefined ? [] : [`${list}[${index}]`]
  const name = [...place, ...(id === undefined ? [] : [JSON.stringify(id)])].join(' ')
  return [`${file}:${line}`, name, reason]
    .filter(Boolean)
    .join(': ')
    .replace(/\p{Cc}/gu, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/**
 * Requires that the file of rejected records is none of the files that are read: it is emptied.
 *
 * @param files the names of the files that are read; `-` is stdin
 */
export async function requireOtherFile(
  io: Pick<Io, 'stdin'>,
  rejects: string,
  files: readonly string[],
): Promise<void> {
  const target = await stat(rejects).catch(() => undefined)
  if (!target) return
  for (const file of files) {
    const source = file === '-' ? statOfStdin(io) : await stat(file)
    if (target.isFile() && source?.ino === target.ino && source.dev === target.dev) {
      throw new OperatorError(
        `The rejected records would replace the file that is read: ${rejects}. Name another file.`,
      )
    }
  }
}

/** A shell can read a file as stdin. */
function statOfStdin({ stdin }: Pick<Io, 'stdin'>): Stats | undefined {
  const { fd } = stdin as { readonly fd?: number }
  return fd === undefined ? undefined : fstatSync(fd)
}

async function createFile(file: string) {
  const handle = await open(file, 'w', 0o600).catch((error: Error) => {
    throw new OperatorError(`The file ${file} cannot be written: ${error.message}.`)
  })
  return handle.createWriteStream()
}
