import { type DestinationStream, type Logger as PinoLogger, pino } from 'pino'
import { createReadableLog } from './readable-log.ts'

/** The part of a pino logger that is used below the servers. */
export interface Logger {
  error(details: object, message: string): void
  warn(details: object, message: string): void
}

/**
 * Creates the log: JSON lines on stdout, or readable lines if stdout is a terminal.
 *
 * @param destination where tests write instead
 */
export function createLogger({ logLevel }: { readonly logLevel: string }, destination?: DestinationStream): PinoLogger {
  const stream = destination ?? (process.stdout.isTTY ? createReadableLog(process.stdout) : undefined)
  const options = { level: logLevel, serializers: { err: describeError } }
  return stream ? pino(options, stream) : pino(options)
}

interface DescribedError {
  readonly type: string
  readonly message: string
  readonly code?: unknown
  readonly stack?: string | undefined
  readonly cause?: DescribedError
}

/** An error without its other properties: errors of the database have the row that they are about. */
function describeError(error: unknown): DescribedError {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) }
  const { name, message, stack, cause } = error
  return {
    type: name,
    message,
    ...('code' in error && { code: error.code }),
    stack,
    ...(cause !== undefined && { cause: describeError(cause) }),
  }
}
