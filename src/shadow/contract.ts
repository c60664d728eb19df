import { ownValue } from '@fusion-gateway/base'
import { Kind, OperationTypeNode, parse } from 'graphql'

/**
 * The lists of responses whose order the interface of the earlier service does not state. Every other list has an
 * order: those of values, of GraphQL, and of pages, which would be no pages without one.
 */
const unordered: Readonly<Record<string, readonly string[]>> = {
  'GET /users': ['$.users', '$.users[*].accounts'],
  'GET /users/{id}': ['$.accounts'],
  'PUT /users/{id}': ['$.accounts'],
  'GET /fusion/profiles': profileLists(),
  'POST /fusion/profiles': profileLists(),
}

function profileLists(): string[] {
  return ['', '[*].emails', '[*].phone_numbers', '[*].addresses'].map((path) => `$.profiles${path}`)
}

/** Whether the order of a list is part of the contract: `$.users[*].accounts` of `GET /users` has none. */
export function hasOrder(route: string, path: string): boolean {
  return !ownValue(unordered, route)?.includes(path)
}

/** The routes that have ids. */
const withIds: readonly [RegExp, string][] = [
  [/^\/users\/[^/]+$/, '/users/{id}'],
  [/^\/users\/[^/]+\/accounts$/, '/users/{id}/accounts'],
  [/^\/accounts\/[^/]+$/, '/accounts/{id}'],
  [/^\/accounts\/[^/]+\/profile$/, '/accounts/{id}/profile'],
  [/^\/fusion\/jobs\/[^/]+$/, '/fusion/jobs/{id}'],
  [/^\/fusion\/jobs\/[^/]+\/(cancel|retry)$/, '/fusion/jobs/{id}/$1'],
]

const others = ['/users', '/fusion/profiles', '/fusion/jobs', '/graphql', '/health', '/ready']

/** What a request asks for. */
export interface RequestKind {
  /** By which a report groups: `GET /users/{id}`, or `POST /graphql Dashboard` with the name of the operation. */
  readonly route: string
  /** Whether it changes nothing: GET, HEAD, POST /fusion/profiles, and queries of GraphQL. */
  readonly isRead: boolean
}

/**
 * Says what a request asks for.
 *
 * @param target the path with the query string. A page of a list is another route than the whole list
 */
export function kindOf(method: string, target: string, body: Buffer): RequestKind {
  const [path = '', query = ''] = target.split('?', 2)
  const plain = path.length > 1 ? path.replace(/\/$/, '') : path
  if (plain === '/graphql' && method === 'POST') {
    const { name, isQuery } = readOperation(body)
    return { route: `POST /graphql${name === undefined ? '' : ` ${name}`}`, isRead: isQuery }
  }
  const found = withIds.find(([pattern]) => pattern.test(plain))
  const name = found ? plain.replace(...found) : others.includes(plain) ? plain : generalise(plain)
  const isPage = name === '/users' && /(^|&)(limit|cursor)=/.test(query)
  const isRead = method === 'GET' || method === 'HEAD' || (method === 'POST' && name === '/fusion/profiles')
  return { route: `${method} ${name}${isPage ? '?limit' : ''}`, isRead }
}

/** A path that is no route of the contract: what can be an id becomes `{id}`, so that a report has few routes. */
function generalise(path: string): string {
  const segments = path.split('/').slice(0, 8)
  return segments
    .map((segment) => (/^[a-z][a-z_.-]{0,30}$/i.test(segment) || segment === '' ? segment : '{id}'))
    .join('/')
}

/** The name of the operation in the body of a GraphQL request, and whether its document has queries alone. */
function readOperation(body: Buffer): { readonly name?: string | undefined; readonly isQuery: boolean } {
  try {
    const { query, operationName } = JSON.parse(body.toString('utf8')) as Readonly<Record<string, unknown>>
    const { definitions } = parse(String(query), { maxTokens: 20_000 })
    const operations = definitions.filter((definition) => definition.kind === Kind.OPERATION_DEFINITION)
    const name = typeof operationName === 'string' ? operationName : operations[0]?.name?.value
    return { name, isQuery: operations.every(({ operation }) => operation === OperationTypeNode.QUERY) }
  } catch {
    // A document that cannot be read, or that an id stands for, may change something.
    return { isQuery: false }
  }
}
