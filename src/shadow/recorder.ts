import { isUtf8 } from 'node:buffer'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { finished } from 'node:stream/promises'
import { OperatorError } from '@fusion-gateway/base'
import type { RawHeaders } from '../old-service/send.ts'
import type { FullRequest } from './shadow.ts'

/** Writes requests into a file, as lines that `--requests` reads. */
export interface Recorder {
  add(request: FullRequest): void
  /** Ends the file, and says how many requests it has, and how many are missing for which reason. */
  close(): Promise<Recording>
}

export interface Recording {
  readonly recorded: number
  readonly missing: Readonly<Record<string, number>>
}

/** The headers that are written. Any other one could be a credential. */
const recordedHeaders = [
  'accept',
  'accept-language',
  'apollographql-client-name',
  'apollographql-client-version',
  'content-type',
  'graphql-client-name',
  'graphql-client-version',
  'prefer',
]

/** What may wait for the disk. */
const maxWaitingBytes = 64 * 1024 * 1024

/**
 * Creates a file of requests, which only its owner may read: paths, bodies and variables can be personal.
 *
 * @throws OperatorError if the file exists or cannot be created
 */
export async function createRecorder(file: string): Promise<Recorder> {
  const stream = createWriteStream(file, { flags: 'wx', mode: 0o600 })
  await once(stream, 'open').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EEXIST') throw new OperatorError(`The file ${file} exists. Give --record another name.`)
    throw new OperatorError(`The file ${file} cannot be created: ${error.message}`)
  })
  // The proxy goes on when the disk is full. Writes after the first failure fail because the stream is closed.
  let failure: string | undefined
  const fail = ({ message }: Error) => {
    failure ??= `the file cannot be written: ${message}`
    return failure
  }
  stream.on('error', fail)
  const missing = new Map<string, number>()
  const miss = (reason: string) => missing.set(reason, (missing.get(reason) ?? 0) + 1)
  let recorded = 0

  /** Why a request cannot be written. */
  function problemOf({ method, target, headers, body }: FullRequest): string | undefined {
    if (failure !== undefined) return failure
    if (!isReadable({ method, target })) return 'the method or the path is none that --requests reads'
    if (headerIn(headers, 'content-encoding') !== undefined || !isUtf8(body)) return 'the body is not text'
    return stream.writableLength > maxWaitingBytes ? 'the disk is too slow' : undefined
  }

  return {
    add(request) {
      const problem = problemOf(request)
      if (problem !== undefined) return void miss(problem)
      stream.write(`${JSON.stringify(toLine(request))}\n`, (error) => {
        if (error) miss(fail(error))
        else recorded += 1
      })
    },
    async close() {
      stream.end()
      await finished(stream).catch(() => undefined)
      return { recorded, missing: Object.fromEntries(missing) }
    },
  }
}

/** Whether `readRequests` accepts it. It ends at a line that it does not: `OPTIONS *` has no path. */
const isReadable = ({ method, target }: Pick<FullRequest, 'method' | 'target'>) =>
  /^[A-Z]{1,20}$/.test(method) && target.startsWith('/')

function toLine({ method, target, headers, body }: FullRequest) {
  const kept = recordedHeaders.flatMap((name) => {
    const value = headerIn(headers, name)
    return value === undefined ? [] : [[name, value] as const]
  })
  return { method, path: target, headers: Object.fromEntries(kept), ...(body.length > 0 && { body: body.toString() }) }
}

function headerIn(headers: RawHeaders, name: string): string | undefined {
  const index = headers.findIndex((one, index) => index % 2 === 0 && one.toLowerCase() === name)
  return index < 0 ? undefined : headers[index + 1]
}
