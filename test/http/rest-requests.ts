import type { InjectOptions } from 'fastify'
import type { Choices } from './choices.ts'
import { createValidator, invalidValue, type RequestSchema, validValue } from './schema-values.ts'

interface Parameter {
  readonly in: string
  readonly name: string
  readonly required: boolean
  readonly schema: RequestSchema
}

/** An operation of the OpenAPI document. `HEAD` works wherever `GET` does. */
export interface RestOperation {
  readonly name: string
  readonly url: string
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE'
  readonly parameters: readonly Parameter[]
  readonly body: RequestSchema | undefined
  readonly responses: Readonly<Record<string, unknown>>
}

interface Described {
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: RequestSchema } } }
  readonly responses: Readonly<Record<string, unknown>>
}

/** The operations of an OpenAPI document. */
export function operationsOf(document: Record<string, unknown>): RestOperation[] {
  const paths = document['paths'] as Record<string, Record<string, Described>>
  return Object.entries(paths).flatMap(([url, methods]) =>
    Object.entries(methods).flatMap(([name, { parameters = [], requestBody, responses }]) => {
      const body = requestBody?.content['application/json'].schema
      const methods = (name === 'get' ? ['GET', 'HEAD'] : [name.toUpperCase()]) as RestOperation['method'][]
      return methods.map((method) => ({ name: `${method} ${url}`, url, method, parameters, body, responses }))
    }),
  )
}

export interface Credentials {
  readonly key: string
  /** Whether the key is valid and has all scopes. */
  readonly isFull: boolean
}

interface Sender {
  readonly credentials: Credentials
  /** The id of a row that the path of an operation can name, in a state in which the operation succeeds. */
  readonly idOf: (operation: RestOperation) => string
  readonly anyId: () => string
  readonly idempotencyKey: string
}

const validator = createValidator()

/** How a client writes a list in a query. */
const writings = [
  (list: unknown[]) => list.map((item) => ['account_ids', String(item)]),
  (list: unknown[]) => [['account_ids', list.join(',')]],
  (list: unknown[]) => [['account_ids', JSON.stringify(list)]],
] as const

/**
 * Generates a request. Half of the requests have only values that the schemas of the document accept.
 *
 * @returns the request, and whether the document promises that it succeeds
 */
export function restRequest(choices: Choices, operation: RestOperation, sender: Sender) {
  const { method, url, parameters, body } = operation
  let isPromised = sender.credentials.isFull

  function choose(schema: RequestSchema): unknown {
    const value = choices.rarely() ? invalidValue(choices, schema) : validValue(choices, schema)
    // PostgreSQL stores neither, and a pattern cannot exclude them for every reader of patterns.
    const isStorable = !/\\u0000|\\ud[89a-f]/i.test(JSON.stringify(value) ?? '')
    isPromised &&= isStorable && validator.validate(schema, value)
    return value
  }

  const path = url.replace('{id}', () => {
    const isKnown = choices.below(3) > 0
    isPromised &&= isKnown
    const id = isKnown ? sender.idOf(operation) : sender.anyId()
    return encodeURIComponent(id.toWellFormed())
  })

  const search = new URLSearchParams()
  const add = (name: string, value: unknown) => search.append(name, String(value).toWellFormed())
  const headers: Record<string, string> = { 'x-api-key': sender.credentials.key }
  let hasList = false
  for (const { in: place, name, required, schema } of parameters) {
    if (place === 'path' || (choices.below(2) === 0 && !required)) continue
    // Such requests would wait: rest/wait.test.ts.
    if (name === 'prefer') continue
    if (name === 'if-none-match') headers[name] = choices.pick(['*', 'W/"x"', '"x", "y"', 'x'])
    else if (name === 'if-match') {
      headers[name] = choices.pick(['*', '"x"', 'x'])
      isPromised = false
    } else if (name === 'idempotency-key') {
      headers[name] = sender.idempotencyKey
      isPromised &&= sender.idempotencyKey.startsWith('key-')
    } else if (name === 'account_ids') {
      const list = choose(schema)
      hasList = true
      const written = Array.isArray(list) && list.length > 0 ? choices.pick(writings)(list) : [[name, list]]
      for (const [key, text] of written) add(String(key), text)
      // Other lists are not written, or are written in a way that a comma of an id changes.
      isPromised &&= Array.isArray(list) && list.length > 0 && !list.join('').includes(',')
    } else {
      const value = choose(schema)
      add(name, value)
      // A cursor that the gateway has not sent may be refused. An empty text is no number.
      isPromised &&= name !== 'cursor' && (typeof value === 'number' || 'enum' in schema)
    }
  }
  if (choices.rarely()) {
    add(choices.pick(['limit', 'x', 'account_ids', 'cursor']), 'x')
    isPromised = false
  }

  const isWrite = body && (method === 'POST' || method === 'PUT')
  // A client that sends the list in both must send the same.
  const hasBody = isWrite || (body && !hasList ? true : choices.rarely())
  const sent = hasBody ? choose(body ?? {}) : undefined
  // Two lists, in the body and in the query, are rarely the same.
  isPromised &&= !(hasBody && body && hasList)
  // The rules of URLs are no pattern, and an earlier job may have the key, or another user the external id.
  isPromised &&= !Object.keys(sent ?? {}).some((name) => /url$|^idempotency_key$|^external_id$/.test(name))
  const payload = sent === undefined ? undefined : JSON.stringify(sent)
  const isBroken = hasBody && choices.rarely()
  const type = choices.rarely() ? choices.pick(['text/plain', '']) : 'application/json'
  if (hasBody && type !== '') headers['content-type'] = type
  // The body of a HEAD is not read.
  isPromised &&= method !== 'HEAD' || !body || hasList
  isPromised &&= !isBroken && (!hasBody || type === 'application/json') && (!body || hasBody || hasList)

  const request = {
    method,
    url: `${path}${search.size > 0 ? `?${search}` : ''}`,
    headers,
    ...(hasBody && { payload: isBroken ? choices.pick(['{', '', '\u0000', '{"a":1}x', '[[[[']) : (payload ?? '') }),
  } satisfies InjectOptions
  return { request, mustSucceed: isPromised }
}
