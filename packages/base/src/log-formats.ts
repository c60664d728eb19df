import type { LoggerOptions } from 'pino'
import { ownValue, recordOf } from './own-value.ts'

export interface DescribedError {
  readonly type: string
  readonly message: string
  /** The SQLSTATE, the code of Prisma Client or that of the system. */
  readonly code?: unknown
  readonly stack?: string | undefined
  readonly cause?: DescribedError
}

interface LogFormat {
  readonly levelKey: string
  /** The system's names of pino's levels. Levels that it calls the same are missing. */
  readonly levels: Readonly<Record<string, string>>
  readonly timeKey: string
  /** The system's names of fields that it reads itself, or needs for something else. */
  readonly fields: Readonly<Record<string, (value: unknown) => [string, unknown]>>
  readonly constants: object
}

const formats = {
  /** @see https://cloud.google.com/logging/docs/structured-logging */
  gcp: {
    levelKey: 'severity',
    levels: { trace: 'DEBUG', debug: 'DEBUG', info: 'INFO', warn: 'WARNING', error: 'ERROR', fatal: 'CRITICAL' },
    timeKey: 'time',
    fields: {},
    constants: {},
  },
  /** `status` is the level. @see https://docs.datadoghq.com/logs/log_configuration/attributes_naming_convention/ */
  datadog: {
    levelKey: 'status',
    levels: { trace: 'debug', warn: 'warning', fatal: 'critical' },
    timeKey: 'timestamp',
    fields: {
      status: (status) => ['http', { status_code: status }],
      err: (error) => {
        const { type: kind, ...rest } = error as DescribedError
        return ['error', { kind, ...rest }]
      },
    },
    constants: {},
  },
  /** @see https://www.elastic.co/docs/reference/ecs/ecs-field-reference */
  ecs: {
    levelKey: 'log.level',
    levels: {},
    timeKey: '@timestamp',
    fields: {
      err: (error) => {
        const { stack: stack_trace, ...rest } = error as DescribedError
        return ['error', { ...rest, stack_trace }]
      },
    },
    constants: { 'ecs.version': '8.11.0' },
  },
} as const satisfies Record<string, LogFormat>

/** The values of LOG_FORMAT. `json` is pino's own format. */
export const logFormats = ['json', ...(Object.keys(formats) as (keyof typeof formats)[])] as const

export type LogFormatName = (typeof logFormats)[number]

/**
 * The options of pino for a format.
 *
 * `{"level":30,"time":1767225600000,"msg":"serving"}` ⇒
 * `{"severity":"INFO","time":"2026-01-01T00:00:00.000Z","message":"serving"}`
 */
export function formatOptions(name: LogFormatName, describeError: (error: unknown) => DescribedError): LoggerOptions {
  if (name === 'json') return { serializers: { err: describeError } }
  const { levelKey, levels, timeKey, fields, constants }: LogFormat = formats[name]

  function rename([key, value]: [string, unknown]): [string, unknown] {
    const described = key === 'err' ? describeError(value) : value
    return ownValue(fields, key)?.(described) ?? [key, described]
  }

  return {
    messageKey: 'message',
    // `log` has described it. Without this, pino would describe it again.
    serializers: { err: (described) => described },
    timestamp: () => `,"${timeKey}":"${new Date().toISOString()}"`,
    formatters: {
      level: (label) => ({ [levelKey]: ownValue(levels, label) ?? label, ...constants }),
      log: (line) => recordOf(Object.entries(line).map(rename)),
    },
  }
}
