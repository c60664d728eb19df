import { accessSync, constants } from 'node:fs'
import { ExportResultCode } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import type { SpanExporter } from '@opentelemetry/sdk-trace'
import { OperatorError } from '../errors.ts'
import { own } from '../own.ts'
import type { Logger } from './logger.ts'

/**
 * Creates the exporter of spans: OpenTelemetry's own, for OTLP over HTTP, as JSON.
 *
 * The environment configures it: `OTEL_EXPORTER_OTLP_` or `OTEL_EXPORTER_OTLP_TRACES_`, with `ENDPOINT`, `HEADERS`,
 * `TIMEOUT`, `COMPRESSION`, `CERTIFICATE`, `CLIENT_KEY` and `CLIENT_CERTIFICATE`.
 *
 * @throws OperatorError for headers and certificates that the exporter would leave out without a word
 * @see https://opentelemetry.io/docs/specs/otel/protocol/exporter/
 */
export function createOtlpExporter(): SpanExporter {
  for (const prefix of ['OTEL_EXPORTER_OTLP', 'OTEL_EXPORTER_OTLP_TRACES']) {
    checkHeaders(`${prefix}_HEADERS`)
    for (const name of ['CERTIFICATE', 'CLIENT_KEY', 'CLIENT_CERTIFICATE']) checkFile(`${prefix}_${name}`)
  }
  return new OTLPTraceExporter()
}

/** Logs when the collector stops and starts accepting spans: one line each, not one per batch. */
export function logFailures(exporter: SpanExporter, log: Logger): SpanExporter {
  let isFailing = false
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const hasFailed = result.code === ExportResultCode.FAILED
        if (hasFailed && !isFailing) log.warn({ err: result.error }, 'the trace collector accepts no spans')
        if (!hasFailed && isFailing) log.warn({}, 'the trace collector accepts spans again')
        isFailing = hasFailed
        done(result)
      })
    },
    shutdown: () => exporter.shutdown(),
  }
}

function checkHeaders(name: string): void {
  try {
    decodeURIComponent(own(process.env, name) ?? '')
  } catch {
    throw new OperatorError(`${name} has a % that encodes no character of UTF-8. Write the character % as %25`)
  }
}

function checkFile(name: string): void {
  const file = own(process.env, name)
  if (!file) return
  try {
    accessSync(file, constants.R_OK)
  } catch (error) {
    throw new OperatorError(`The file of ${name} cannot be read: ${(error as Error).message}`)
  }
}
