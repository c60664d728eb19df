import type { Json } from './json-schema.ts'

/** The description of `HEAD`, from that of `GET`: the same without bodies. */
export function headOf({ operationId, summary, responses, ...get }: Json): Json {
  const withoutBodies = Object.entries(responses as Record<string, Json>).map(
    ([status, { content: _, ...response }]) => [status, response],
  )
  return {
    ...get,
    operationId: `${operationId}Headers`,
    summary: `${summary}: the headers only`,
    responses: Object.fromEntries(withoutBodies),
  }
}
