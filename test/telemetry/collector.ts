import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'

/** A span with its attributes by name. */
export interface ReceivedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly attributes: Readonly<Record<string, unknown>>
  readonly status: { readonly code: number }
  /** The name of the service. */
  readonly service: unknown
}

/** A collector of traces that accepts OTLP over HTTP, as JSON. */
export interface Collector {
  readonly url: string
  /** Every span so far. */
  readonly spans: ReceivedSpan[]
  /** Waits for the request with this id, and returns all spans of its trace. */
  trace(requestId: string): Promise<ReceivedSpan[]>
  close(): void
}

interface Attribute {
  readonly key: string
  readonly value: { readonly [type: string]: unknown }
}

interface Body {
  readonly resourceSpans: {
    readonly resource: { readonly attributes: Attribute[] }
    readonly scopeSpans: { readonly spans: (Omit<ReceivedSpan, 'attributes'> & { attributes: Attribute[] })[] }[]
  }[]
}

/** Starts a collector on a free port. */
export async function startCollector(): Promise<Collector> {
  const spans: ReceivedSpan[] = []
  const server = createServer(async (request, response) => {
    if (request.url === '/v1/traces') spans.push(...read((await json(request)) as Body))
    response.setHeader('content-type', 'application/json').end('{}')
    server.emit('spans')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const isOf = (requestId: string) => (span: ReceivedSpan) =>
    span.attributes['http.response.header.x-request-id'] === requestId
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    async trace(requestId) {
      let request = spans.find(isOf(requestId))
      while (!request) {
        await once(server, 'spans')
        request = spans.find(isOf(requestId))
      }
      return spans.filter(({ traceId }) => traceId === request.traceId)
    },
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

function read({ resourceSpans }: Body): ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        ...span,
        attributes: valuesOf(span.attributes),
        service: valuesOf(resource.attributes)['service.name'],
      })),
    ),
  )
}

function valuesOf(attributes: readonly Attribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, toValue(value)]))
}

/** The value, or the first value of a list. */
function toValue({ arrayValue, ...value }: Attribute['value']): unknown {
  const list = arrayValue as { values: Attribute['value'][] } | undefined
  return list ? toValue(list.values[0] ?? {}) : Object.values(value)[0]
}
