import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { compileAhead } from '../graphql/compiled.ts'
import type { OnceOnly } from '../graphql/execute-once.ts'
import { maxPageSize } from '../graphql/pagination.ts'
import { requireScope } from '../graphql/require-scope.ts'
import { schema } from '../graphql/schema.ts'
import { scopesOf } from '../graphql/scopes-of.ts'
import { onceOf } from '../http/once.ts'
import { contextOf, createAuthenticateHook, type RouteDependencies, viewerOf } from '../http/request.ts'
import { checkVariables } from './check-variables.ts'
import { type CompiledOperation, compileOperation } from './operation.ts'
import type { Route, RouteInput } from './route.ts'
import { routes } from './routes.ts'
import { notFound, runOperation } from './run-operation.ts'
import { encode } from './shape.ts'
import { type Page, streamList } from './stream-list.ts'
import { valueAt } from './value-at.ts'

/** Serves every row of the table. */
export function registerRest(app: FastifyInstance, dependencies: RouteDependencies): void {
  const { services, meter, admit, chooseReads } = dependencies
  const authenticate = createAuthenticateHook(dependencies)

  for (const route of routes) {
    const operation = compileOperation(schema, route)
    compileAhead(operation.document)
    // REST has no half answers: who may not see all of it is refused before anything is done.
    const scopes = scopesOf(operation.document)

    // A context of its own for each run: the loaders of a page are forgotten with the page.
    const run = (request: FastifyRequest, variables: Readonly<Record<string, unknown>>, once?: OnceOnly) =>
      chooseReads(request, operation, () =>
        meter.run(request.sqlCount, () =>
          runOperation(route, operation, variables, contextOf(request, services), once),
        ),
      )

    app.route({
      method: route.method === 'GET' ? ['GET', 'HEAD'] : route.method,
      url: route.url,
      async onRequest(request) {
        await authenticate(request)
        for (const scope of scopes) requireScope(viewerOf(request), scope)
      },
      async handler(request, reply) {
        const input = request as RouteInput
        const once = onceOf(request, reply, services, request.body)
        const given = checkVariables(route, operation, route.variables(input))
        const variables = isWholeList(route, input) ? { first: maxPageSize } : given
        // A whole list costs what a page of it does.
        await admit(request, reply, { document: operation.document, variables })
        if (route.connection !== undefined) {
          const read = async (page: Readonly<Record<string, unknown>>) =>
            toPage(route, route.connection ?? '', operation, await run(request, page))
          return answerList(route, reply, input, variables, read)
        }
        return answerOne(route, operation, reply, await run(request, variables, once))
      },
    })
  }
}

function answerOne(
  route: Route,
  { shape }: CompiledOperation,
  reply: FastifyReply,
  data: Readonly<Record<string, unknown>>,
) {
  const value = valueAt(data, route.answer)
  if (value == null) throw notFound()
  if (route.makes) reply.code(201).header('location', route.makes(value as { id: string }))
  const answer = encode(shape, value)
  return asJson(reply, route.under === undefined ? answer : { [route.under]: answer })
}

async function answerList(
  route: Route,
  reply: FastifyReply,
  input: RouteInput,
  variables: Readonly<Record<string, unknown>>,
  read: (variables: Readonly<Record<string, unknown>>) => Promise<Page>,
) {
  const key = route.under ?? 'items'
  if (!isWholeList(route, input)) {
    const { items, next } = await read(variables)
    if (next !== undefined) reply.header('link', `<${nextUrl(route, input.query, next)}>; rel="next"`)
    return asJson(reply, { [key]: items })
  }
  const first = await read(variables)
  reply.type('application/json; charset=utf-8')
  if (reply.request.method === 'HEAD') return reply.send()
  return streamList(key, first, (after) => read({ first: maxPageSize, after }))
}

/** Whether all of a list is asked for, and not a page of it. */
function isWholeList({ connection }: Route, { query }: RouteInput): boolean {
  return connection !== undefined && query['limit'] === undefined && query['cursor'] === undefined
}

interface PageInfo {
  readonly hasNextPage: boolean
  readonly endCursor: string | null
}

function toPage(
  route: Route,
  connection: string,
  { shape }: CompiledOperation,
  data: Readonly<Record<string, unknown>>,
): Page {
  const { hasNextPage, endCursor } = valueAt(data, `${connection}.pageInfo`) as PageInfo
  return {
    items: encode(shape, valueAt(data, route.answer)) as unknown[],
    next: hasNextPage && endCursor !== null ? endCursor : undefined,
  }
}

/** The same list, one page on. */
function nextUrl({ url }: Route, { limit }: RouteInput['query'], cursor: string): string {
  const search = new URLSearchParams({ ...(typeof limit === 'string' && { limit }), cursor })
  return `${url}?${search}`
}

/** What the handler is to give back. Not the reply: it is a thenable, and waiting for it costs more than many a read. */
function asJson(reply: FastifyReply, body: unknown): string {
  reply.type('application/json; charset=utf-8')
  return JSON.stringify(body)
}
