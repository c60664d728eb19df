import { promisify } from 'node:util'
import converter from 'openapi-to-postmanv2'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startDemo } from './demo.js'

let demo
beforeAll(async () => {
  demo = await startDemo()
})
afterAll(() => demo.close())

/**
 * The collection that Postman creates from the document.
 *
 * @param parametersResolution an option of its import: whether values are the examples, or generated from the schemas
 */
async function importDocument(parametersResolution) {
  const input = { type: 'json', data: structuredClone(demo.document) }
  const { result, reason, output } = await promisify(converter.convertV2)(input, { parametersResolution })
  expect(result, reason).toBe(true)
  return output[0].data
}

function requestsOf({ item, request }) {
  return item ? item.flatMap(requestsOf) : [request]
}

/** Optional parameters without an example. Postman invents values for them. */
const ofOneClient = ['idempotency-key', 'if-match', 'if-none-match', 'cursor']

/**
 * Sends a request as Postman does when its user has filled in the base URL and the key, and cleared these parameters.
 */
async function send({ method, url, header = [], body }) {
  const isSent = ({ key, disabled }) => !disabled && !ofOneClient.includes(key)
  const pairsOf = (entries) => entries.filter(isSent).map(({ key, value }) => [key, value])
  const variables = Object.fromEntries(pairsOf(url.variable))
  const path = url.path.map((part) => (part.startsWith(':') ? encodeURIComponent(variables[part.slice(1)]) : part))
  const response = await fetch(`${demo.address}/${path.join('/')}?${new URLSearchParams(pairsOf(url.query))}`, {
    method,
    headers: [...pairsOf(header), ['x-api-key', demo.key]],
    // Postman does not send the body of a GET.
    ...(body?.raw && method !== 'GET' && { body: body.raw }),
  })
  const text = await response.text()
  return [`${method} /${url.path.join('/')}`, response.ok ? response.status : text]
}

describe('the collection that Postman imports', () => {
  it('reads and writes the demo tenant with the examples of the document', async () => {
    const collection = await importDocument('Example')
    const fields = Object.fromEntries(collection.auth.apikey.map(({ key, value }) => [key, value]))
    expect(fields).toMatchObject({ key: 'x-api-key', in: 'header' })
    const statuses = []
    for (const request of requestsOf(collection)) statuses.push(await send(request))
    const reads = [
      '/users',
      '/users/:id',
      '/users/:id/accounts',
      '/accounts/:id',
      '/accounts/:id/profile',
      '/accounts/:id/profile/history',
      '/fusion/profiles',
      '/fusion/jobs',
      '/fusion/jobs/:id',
      '/health',
      '/ready',
      '/metrics',
    ]
    expect(Object.fromEntries(statuses)).toEqual({
      ...Object.fromEntries(reads.map((path) => [`GET ${path}`, 200])),
      'POST /fusion/profiles': 200,
      'POST /users': 201,
      'PUT /users/:id': 200,
      'DELETE /users/:id': 204,
      'POST /users/:id/accounts': 201,
      'DELETE /accounts/:id': 204,
      'PUT /accounts/:id/profile': 200,
      'POST /fusion/jobs': 201,
      'POST /fusion/jobs/:id/cancel': 200,
      'POST /fusion/jobs/:id/retry': 200,
    })
  })

  it('creates a user with a body that is generated from the schema', async () => {
    const requests = requestsOf(await importDocument('Schema'))
    const create = requests.find(({ method }) => method === 'POST')
    expect(await send(create)).toEqual(['POST /users', 201])
  })
})
