// A Fastify server that does before an operation what the gateway does: it looks up the API key (cached for three
// seconds), limits the rate of the key, logs the request, and checks the depth and the cost of the document.
import { createHash } from 'node:crypto'
import rateLimit from '@fastify/rate-limit'
import Fastify from 'fastify'
import { Kind, parse } from 'graphql'
import { LRUCache } from 'lru-cache'

const maxDepth = 12
const maxCost = 20_000

/** @param {import('pg').Pool} pool */
export async function createFront(pool) {
  const app = Fastify({ logger: { level: 'info' }, disableRequestLogging: true })
  const keys = new LRUCache({ max: 10_000, ttl: 3_000 })
  const documents = new LRUCache({ max: 1_000 })

  async function authenticate(request) {
    const key = request.headers['x-api-key'] ?? ''
    let viewer = keys.get(key)
    if (!viewer) {
      const text = 'SELECT tenant_app_id, id, scopes FROM api_key WHERE hash = $1 AND revoked_at IS NULL'
      const hash = createHash('sha256').update(key).digest('hex')
      viewer = (await pool.query({ name: 'key', text, values: [hash] })).rows[0]
      if (!viewer) throw Object.assign(new Error('No valid API key'), { statusCode: 401 })
      keys.set(key, viewer)
    }
    request.viewer = viewer
  }

  app.decorateRequest('viewer', null)
  app.addHook('onRequest', authenticate)
  await app.register(rateLimit, { max: 1e9, timeWindow: 60_000, keyGenerator: ({ viewer }) => viewer.id })
  app.addHook('preHandler', async ({ body }) => {
    const query = body?.query
    if (typeof query !== 'string') return
    const document = documents.get(query) ?? parse(query)
    documents.set(query, document)
    const { depth, cost } = sizeOf(document.definitions[0].selectionSet, body.variables ?? {})
    if (depth > maxDepth || cost > maxCost) throw Object.assign(new Error('Too expensive'), { statusCode: 400 })
  })
  app.addHook('onResponse', async (request, reply) => {
    const { viewer, method, url } = request
    const details = { tenant: viewer?.tenant_app_id, key: viewer?.id, route: `${method} ${url}` }
    request.log.info({ ...details, status: reply.statusCode, durationMs: reply.elapsedTime }, 'request')
  })
  return app
}

/** The depth of a selection, and its fields with selections times the lengths of their lists. */
function sizeOf(selectionSet, variables) {
  let depth = 0
  let cost = 0
  for (const selection of selectionSet?.selections ?? []) {
    const inner = sizeOf(selection.selectionSet, variables)
    depth = Math.max(depth, inner.depth + 1)
    if (selection.kind !== Kind.FIELD || !selection.selectionSet) continue
    const first = selection.arguments?.find(({ name }) => name.value === 'first')?.value
    const length = first?.kind === Kind.VARIABLE ? variables[first.name.value] : Number(first?.value ?? 1)
    cost += length * (1 + inner.cost)
  }
  return { depth, cost }
}
