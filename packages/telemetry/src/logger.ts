import { writeSync } from 'node:fs'
import { styleText } from 'node:util'
import { type DescribedError, formatOptions, type LogFormatName } from '@fusion-gateway/base'
import { causeOf } from '@fusion-gateway/sql'
import { type DestinationStream, type Logger as PinoLogger, pino } from 'pino'
import { createLogBuffer } from './log-buffer.ts'
import { measureLog } from './measure.ts'
import type { Metrics } from './metrics.ts'

// Ours, not pino-pretty: that is 14 more packages, and loading them adds 64 ms to the start.

/** The fields that the text of a line contains, or that are the same in every line. */
const hidden = new Set('level time pid hostname msg err tenant route operation status durationMs sql'.split(' '))

const colours = { trace: 'gray', debug: 'blue', info: 'green', warn: 'yellow', error: 'red', fatal: 'bgRed' } as const

type Line = Readonly<Record<string, unknown>> & { readonly level: number; readonly time: number }

/**
 * Creates the destination of a log that a person reads: `[12:34:56.789] INFO: answered GET /users 200, 3 ms, 1 SQL
 * {"requestId":"…"}`.
 *
 * @param out where the lines are written
 */
export function createReadableLog(out: { write(text: string): unknown }): DestinationStream {
  return { write: (line) => void out.write(`${toText(JSON.parse(line) as Line)}\n`) }
}

function toText(line: Line): string {
  const level = pino.levels.labels[line.level] ?? 'info'
  const date = new Date(line.time)
  const time = `${date.toTimeString().slice(0, 8)}.${String(date.getMilliseconds()).padStart(3, '0')}`
  const { msg, route, operation, status, durationMs, sql } = line
  const response = status === undefined ? undefined : `${status}, ${durationMs} ms, ${sql} SQL`
  const message = [msg, route, operation, response].filter((part) => part !== undefined).join(' ')
  const rest = Object.entries(line).filter(([name]) => !hidden.has(name))
  const details = rest.length === 0 ? '' : ` ${styleText('gray', JSON.stringify(Object.fromEntries(rest)))}`
  const label = styleText(colours[level as keyof typeof colours] ?? 'green', level.toUpperCase())
  return `[${time}] ${label}: ${styleText('cyan', message)}${details}${errorOf(line['err'])}`
}

/** The stack of an error is on separate lines, and its cause below. */
function errorOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return ''
  const { stack, cause, message, code } = error as { stack?: string; cause?: unknown; message?: string; code?: unknown }
  const text = (stack ?? message ?? '').replaceAll('\n', '\n    ')
  return `\n    ${code === undefined ? '' : `${code}: `}${text}${errorOf(cause)}`
}

/** The part of a pino logger that is used below the servers. */
export interface Logger {
  error(details: object, message: string): void
  warn(details: object, message: string): void
}

export interface LoggerOptions {
  readonly logLevel: string
  /** Without it, pino's own format. A terminal gets readable lines in any case. */
  readonly logFormat?: LogFormatName
  /** Get the lines that are dropped because stdout accepts none, and how long it has accepted none. */
  readonly metrics?: Pick<Metrics, 'logLinesDropped' | 'registry'>
}

/**
 * Creates the log: JSON lines on stdout, or readable lines if stdout is a terminal.
 *
 * @param destination where the lines go, instead of stdout
 */
export function createLogger(
  { logLevel, logFormat = 'json', metrics }: LoggerOptions,
  destination?: DestinationStream,
): PinoLogger {
  const isReadable = !destination && process.stdout.isTTY
  const options = { level: logLevel, ...formatOptions(isReadable ? 'json' : logFormat, describeError) }
  if (destination) return pino(options, destination)
  const buffer = createLogBuffer({
    sink: writeToStdout,
    onDrop: () => metrics?.logLinesDropped.inc(),
    onRecover: (dropped) => log.warn({ dropped }, 'log lines were dropped'),
  })
  if (metrics) measureLog(metrics, buffer.stalledSeconds)
  process.once('exit', buffer.end)
  const log = pino(options, isReadable ? createReadableLog(buffer) : buffer)
  return log
}

/** An error without its other properties: errors of the database contain the row. */
function describeError(error: unknown): DescribedError {
  if (!(error instanceof Error)) return describeObject(error)
  const { name, message, stack } = error
  const cause = causeOf(error)
  return {
    type: name,
    message,
    ...('code' in error && { code: error.code }),
    stack,
    ...(cause !== undefined && { cause: describeError(cause) }),
  }
}

/** Describes a thrown value that is no error. Driver adapters describe errors of the database by objects. */
function describeObject(value: unknown): DescribedError {
  if (typeof value !== 'object' || value === null) return { type: typeof value, message: String(value) }
  const { kind, code, originalCode, message, originalMessage } = value as Readonly<Record<string, unknown>>
  return {
    type: String(kind ?? 'object'),
    message: String(originalMessage ?? message ?? ''),
    ...((originalCode ?? code) !== undefined && { code: originalCode ?? code }),
  }
}

/** The part of Node's handle of a pipe, a socket or a terminal that `process.stdout` does not show. */
interface StreamHandle {
  setBlocking(isBlocking: boolean): number
}

/**
 * Writes to the standard output of this process.
 *
 * A pipe, a socket and a terminal answer at once in non-blocking mode. In blocking mode, a reader that does not read
 * would stop the event loop. All processes that inherit a descriptor share its mode, and Node changes it whenever one
 * of them starts or ends: each write sets it.
 */
function writeToStdout(chunk: Buffer): number {
  const { fd, _handle: handle } = process.stdout as typeof process.stdout & { readonly _handle?: StreamHandle }
  handle?.setBlocking(false)
  return writeSync(fd, chunk)
}
