import { errorCodes, isErrorCode } from '@fusion-gateway/base'
import { parse, TypeInfo, visit, visitWithTypeInfo } from 'graphql'
import type { Random } from '../../../src/domain/resource.ts'
import { routes } from '../../../src/rest/routes.ts'
import { toRest } from '../../support/to-rest.ts'
import { describeDifference, differenceOf, ofGateway, ofReference } from '../compare/responses.ts'
import { executeReference } from '../reference/reference.ts'
import { scopeIn } from '../reference/scopes.ts'
import type { World } from '../world/world.ts'

interface Request {
  readonly url: string
  readonly variables: Readonly<Record<string, unknown>>
}

/** Random requests to the routes that read, and the variables of their operations. */
const requests: Readonly<Record<string, (world: World, random: Random, url: string) => Request>> = {
  '/users'({ cursors, other }, { below, pick }) {
    const limit = pick([undefined, 1, 3, 20, 500, 501])
    const known = cursors.all(other.view.tenantAppId, 'users CREATED_AT ASC')
    const cursor = below(2) === 0 ? undefined : pick([...known, 'x'])
    const search = new URLSearchParams({ ...(limit && { limit: String(limit) }), ...(cursor && { cursor }) })
    // Without both, the whole list is streamed, which is shorter than a page here.
    const isWhole = limit === undefined && cursor === undefined
    return { url: `/users?${search}`, variables: isWhole ? { first: 500 } : { first: limit, after: cursor } }
  },
  '/users/:id': requestById,
  '/users/:id/accounts': requestById,
  '/accounts/:id': requestById,
  '/accounts/:id/profile': requestById,
  '/fusion/profiles'({ other }, { below, pick }) {
    const ids = Array.from({ length: below(6) }, () => pick([...other.view.rows.Account.map(({ id }) => id), 'nobody']))
    const isJson = ids.length === 0 || below(2) === 0
    const search = new URLSearchParams(isJson ? { account_ids: JSON.stringify(ids) } : { account_ids: ids.join() })
    return { url: `/fusion/profiles?${search}`, variables: { accountIds: ids } }
  },
  '/fusion/jobs'({ cursors, other }, { below, pick }) {
    const [status, jobType] = [pick([undefined, 'pending', 'succeeded', 'FAILED']), pick([undefined, 'fetch_content'])]
    const limit = pick([undefined, 1, 3, 20, 500, 501])
    const cursor =
      below(2) === 0 ? undefined : pick([...cursors.all(other.view.tenantAppId, 'jobs CREATED_AT ASC'), 'x'])
    const search = new URLSearchParams({
      ...(status && { status }),
      ...(jobType && { job_type: jobType }),
      ...(limit && { limit: String(limit) }),
      ...(cursor && { cursor }),
    })
    const filter = { status: status?.toUpperCase(), jobType }
    return { url: `/fusion/jobs?${search}`, variables: { filter, first: limit, after: cursor } }
  },
  '/fusion/jobs/:id': requestById,
}

function requestById({ other }: World, { pick }: Random, url: string): Request {
  const { rows } = other.view
  const id = pick([...rows.User, ...rows.Job, ...rows.Account].map((row) => row.id))
  return { url: url.replace(':id', encodeURIComponent(id)), variables: { id } }
}

/** The reference has no rows of days: test/history compares this route. */
const ofHistory = '/accounts/:id/profile/history'

/**
 * Sends a random request to a random route that reads, and compares the response with that of the route's operation on
 * /graphql, and this one with the reference.
 *
 * @returns a description of the mismatch
 */
export async function runRoute(world: World, random: Random): Promise<string | undefined> {
  const { app, schema, readers, other } = world
  const route = random.pick(routes.filter(({ method, url }) => method === 'GET' && url !== ofHistory))
  const request = requests[route.url]
  if (!request) throw new Error(`GET ${route.url} has no requests in this test`)
  const { url, variables } = request(world, random, route.url)
  const reader = random.pick([...readers, other])
  const document = parse(route.operation)
  const known = executeReference(schema, document, variables, reader.view)
  const mismatch = (difference: string) => `GET ${url}\n${reader.view.tenantName}, ${reader.name}\n${difference}`

  const reply = await app.graphql<Record<string, unknown> | null>(reader.credentials, route.operation, {
    ...variables,
  })
  const difference = differenceOf(ofGateway(reply), ofReference(known))
  if (difference !== undefined) return mismatch(difference)

  const response = await app.rest(reader.credentials, 'GET', url)
  const value = route.response
    .split('.')
    .reduce<unknown>((at, key) => (at as Record<string, unknown> | null)?.[key], reply.data)
  const shaped = toRest('', value)
  const isAllowed = scopesOf(world, route.operation).every((scope) => reader.holder.scopes.includes(scope))
  const code = isAllowed
    ? (reply.errors?.[0]?.extensions['code'] ?? (value == null ? 'NOT_FOUND' : undefined))
    : 'FORBIDDEN'
  const expected = {
    status: code === undefined ? 200 : isErrorCode(code) ? errorCodes[code].status : 0,
    body:
      code === undefined ? JSON.stringify(route.listKey === undefined ? shaped : { [route.listKey]: shaped }) : code,
    next: code === undefined && isAllowed ? nextOf(reply.data) : undefined,
  }
  const actual = {
    status: response.statusCode,
    body: response.statusCode === 200 ? response.body : response.json<{ code: unknown }>().code,
    next: /cursor=([^>&]+)/.exec(String(response.headers['link']))?.[1],
  }
  const [one, two] = [JSON.stringify(actual), JSON.stringify(expected)]
  return one === two ? undefined : mismatch(describeDifference('response', one, two))
}

/** The cursor of the next page of a list. */
function nextOf(data: Record<string, unknown> | null): string | undefined {
  const { pageInfo } = (data?.['users'] ?? data?.['jobs'] ?? {}) as {
    pageInfo?: { hasNextPage: boolean; endCursor: string | null }
  }
  return pageInfo?.hasNextPage ? (pageInfo.endCursor ?? undefined) : undefined
}

/** The scopes of all fields of an operation. REST has no partial responses, so a viewer needs all of them. */
function scopesOf({ schema }: World, operation: string): string[] {
  const types = new TypeInfo(schema)
  const scopes: string[] = []
  const visitor = { Field: () => void scopes.push(scopeIn(types.getFieldDef()?.description) ?? '') }
  visit(parse(operation), visitWithTypeInfo(types, visitor))
  return scopes.filter((scope) => scope !== '')
}
