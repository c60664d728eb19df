import type { LightMyRequestResponse } from 'fastify'
import type { RestOperation } from './rest-requests.ts'
import { createValidator } from './schema-values.ts'

type Json = Record<string, unknown>

/**
 * Creates a check of responses against an OpenAPI document: their statuses, their media types and their bodies. A body
 * may have no field that the document does not describe.
 *
 * @returns what is wrong with a response
 */
export function createResponseCheck(document: Json) {
  const ajv = createValidator()
  ajv.addSchema(closed(document), 'document')
  const { responses: shared } = document['components'] as { responses: Json }

  function problemsOf(schema: string, value: unknown): unknown[] {
    const validate = ajv.getSchema(schema)
    if (!validate) return [`no schema at ${schema}`]
    return validate(value) ? [] : [{ value, errors: validate.errors }]
  }

  return ({ url, method, responses }: RestOperation, reply: LightMyRequestResponse): unknown[] => {
    const { statusCode, body, headers } = reply
    const response = responses[statusCode] as { $ref?: string; content?: Json } | undefined
    if (!response) return [`status ${statusCode} is not documented`]
    const name = response.$ref?.split('/').at(-1)
    const { content } = name === undefined ? response : (shared[name] as typeof response)
    if (method === 'HEAD' || !content) return body === '' ? [] : [`status ${statusCode} with a body`]
    const type = String(headers['content-type']).split(';')[0] ?? ''
    if (!(type in content)) return [`status ${statusCode} with the media type ${type}`]
    const at =
      name === undefined
        ? ['paths', url, method.toLowerCase(), 'responses', String(statusCode)]
        : ['components', 'responses', name]
    const pointer = [...at, 'content', type, 'schema'].map((part) => part.replaceAll('~', '~0').replaceAll('/', '~1'))
    const value = type.endsWith('json') ? JSON.parse(body) : body
    return problemsOf(`document#/${pointer.map(encodeURIComponent).join('/')}`, value)
  }
}

/** The document, whose objects have no further properties. Those of requests may have some. */
function closed(document: Json): Json {
  return JSON.parse(JSON.stringify(document), (_key, value) =>
    value?.type === 'object' && value.properties ? { additionalProperties: false, ...value } : value,
  )
}
