import type { HrTime } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace'

/**
 * Encodes spans of one tracer as the body of an OTLP request. The gateway's spans have neither events nor links.
 *
 * @see https://github.com/open-telemetry/opentelemetry-proto/blob/main/opentelemetry/proto/trace/v1/trace.proto
 */
export function encodeSpans(spans: readonly ReadableSpan[]) {
  const [first] = spans
  if (!first) return { resourceSpans: [] }
  const resource = { attributes: encodeAttributes(first.resource.attributes) }
  const { name, version } = first.instrumentationScope
  return { resourceSpans: [{ resource, scopeSpans: [{ scope: { name, version }, spans: spans.map(encodeSpan) }] }] }
}

/** The bits of `flags`: whether the span knows that its parent is remote, and whether it is. */
const knowsRemote = 0x1_00
const isRemote = 0x2_00

function encodeSpan(span: ReadableSpan) {
  const { traceId, spanId, traceFlags, traceState } = span.spanContext()
  const parent = span.parentSpanContext
  return {
    traceId,
    spanId,
    parentSpanId: parent?.spanId,
    traceState: traceState?.serialize(),
    name: span.name,
    flags: traceFlags | knowsRemote | (parent?.isRemote ? isRemote : 0),
    // OTLP counts from 1, because 0 is unspecified.
    kind: span.kind + 1,
    startTimeUnixNano: encodeTime(span.startTime),
    endTimeUnixNano: encodeTime(span.endTime),
    attributes: encodeAttributes(span.attributes),
    droppedAttributesCount: span.droppedAttributesCount,
    status: { code: span.status.code, message: span.status.message },
  }
}

/** Nanoseconds are a string in JSON: a number would lose the last digits. */
function encodeTime([seconds, nanoseconds]: HrTime): string {
  return String(BigInt(seconds) * 1_000_000_000n + BigInt(nanoseconds))
}

function encodeAttributes(attributes: Readonly<Record<string, unknown>>) {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: encodeValue(value) }))
}

function encodeValue(value: unknown): object {
  if (typeof value === 'boolean') return { boolValue: value }
  if (Array.isArray(value)) return { arrayValue: { values: value.map(encodeValue) } }
  if (typeof value !== 'number') return { stringValue: String(value) }
  return Number.isInteger(value) ? { intValue: value } : { doubleValue: value }
}
