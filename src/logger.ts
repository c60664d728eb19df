import { type DestinationStream, type Logger, pino } from 'pino'
import pretty from 'pino-pretty'
import type { Config } from './config.ts'

const forPeople = {
  colorize: true,
  singleLine: true,
  ignore: 'pid,hostname,tenant,route,operation,status,durationMs,sql',
  messageFormat:
    '{msg}{if route} {route}{end}{if operation} {operation}{end}{if status} {status}, {durationMs} ms, {sql} SQL{end}',
}

/**
 * The log: JSON lines on stdout, or lines for people when stdout is a terminal.
 *
 * @param destination where to write instead, for tests
 */
export function createLogger({ logLevel }: Pick<Config, 'logLevel'>, destination?: DestinationStream): Logger {
  const stream = destination ?? (process.stdout.isTTY ? pretty(forPeople) : undefined)
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

/** An error without its other properties: a database's error carries the row that it is about. */
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
