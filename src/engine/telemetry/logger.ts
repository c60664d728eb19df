import { type DestinationStream, type Logger as PinoLogger, pino } from 'pino'
import { causeOf } from '../db/errors.ts'
import { createLogBuffer } from './log-buffer.ts'
import type { Metrics } from './metrics.ts'
import { createReadableLog } from './readable-log.ts'
import { createStdoutSink } from './stdout-sink.ts'

/** The part of a pino logger that is used below the servers. */
export interface Logger {
  error(details: object, message: string): void
  warn(details: object, message: string): void
}

export interface LoggerOptions {
  readonly logLevel: string
  /** Counts the lines that are dropped because stdout accepts none. */
  readonly metrics?: Pick<Metrics, 'logLinesDropped'>
}

/**
 * Creates the log: JSON lines on stdout, or readable lines if stdout is a terminal.
 *
 * @param destination of tests, instead of stdout
 */
export function createLogger({ logLevel, metrics }: LoggerOptions, destination?: DestinationStream): PinoLogger {
  const options = { level: logLevel, serializers: { err: describeError } }
  if (destination) return pino(options, destination)
  const buffer = createLogBuffer({
    sink: createStdoutSink(),
    onDrop: () => metrics?.logLinesDropped.inc(),
    onRecover: (dropped) => log.warn({ dropped }, 'log lines were dropped'),
  })
  process.once('exit', buffer.end)
  const log = pino(options, process.stdout.isTTY ? createReadableLog(buffer) : buffer)
  return log
}

interface DescribedError {
  readonly type: string
  readonly message: string
  /** The SQLSTATE, the code of Prisma Client or that of the system. */
  readonly code?: unknown
  readonly stack?: string | undefined
  readonly cause?: DescribedError
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
