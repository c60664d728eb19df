import { GatewayError, invalidField } from '@fusion-gateway/base'
import type { Preparer, TrustedDocuments } from '@fusion-gateway/gateway-kit'
import { type Authenticate, pointsOfLength, viewerOf } from '@fusion-gateway/gateway-kit'
import { routePlugin } from '@fusion-gateway/http'
import type { RateLimit } from '@fusion-gateway/limits'
import * as graphql from 'graphql'
import { inputSchema, type Json } from '../rest/openapi/json-schema.ts'
import { routes } from '../rest/routes.ts'
import { createRouteTool, type Tool, toSegment, toToolName } from './route-tools.ts'

export interface McpOptions {
  readonly preparer: Preparer
  readonly authenticate: Authenticate
  readonly trustedDocuments?: TrustedDocuments | undefined
  readonly introspection: boolean
  readonly rateLimit: RateLimit
}

/**
 * Serves the Model Context Protocol at /mcp: streamable HTTP without sessions, so any process can serve each message.
 *
 * @see https://modelcontextprotocol.io/specification
 */
export const mcp = routePlugin<McpOptions>(
  'mcp',
  (app, { preparer, authenticate, trustedDocuments, introspection, rateLimit }) => {
    const isOpen = trustedDocuments?.others !== 'reject'
    const documentTools = createDocumentTools(preparer, trustedDocuments)
    const createTools = () => [
      // The last tool with a name has it: a trusted document replaces none of the others.
      ...documentTools,
      ...routes.filter(({ repeats }) => !repeats).map((route) => createRouteTool(route, preparer)),
      waitTool,
      ...(isOpen ? [queryTool] : []),
      ...(isOpen && introspection ? [createSearchTool(preparer.schema)] : []),
    ]
    /** Created for the first message. */
    let tools: ReadonlyMap<string, Tool> | undefined

    app.post('/mcp', {
      async onRequest(request, reply) {
        // The protocol requires this. The plugin `cors` has set the header for the origins that it allows.
        if (request.headers.origin !== undefined && !reply.hasHeader('access-control-allow-origin')) {
          throw new GatewayError('FORBIDDEN', 'CORS_ORIGINS lacks the origin of this page.')
        }
        await authenticate(request)
      },
      async handler(request, reply) {
        if (Array.isArray(request.body)) {
          throw new GatewayError(
            'MALFORMED_REQUEST',
            'Batching is not supported. Send each message in its own request.',
          )
        }
        // The request of a tool pays for itself besides.
        const points = pointsOfLength(request.bodyLength)
        if (points > 0) await rateLimit.spend(viewerOf(request), points)
        // The package takes a while to load, and a gateway without clients of MCP does not need it.
        const { respond } = await import('./protocol.ts')
        tools ??= new Map(createTools().map((tool) => [tool.name, tool]))
        return respond(tools, request, reply)
      },
    })
  },
)

/** The tool `query`. A GET never executes a mutation. */
const queryTool: Tool = {
  name: 'query',
  description:
    'Reads with a GraphQL query. Mutations are refused. Lists have pages: ' +
    '{ users(first: 20) { nodes { id name } pageInfo { hasNextPage endCursor } } }',
  inputSchema: {
    type: 'object',
    properties: { query: { type: 'string' }, variables: { type: 'object' }, operationName: { type: 'string' } },
    required: ['query'],
  },
  annotations: { readOnlyHint: true },
  run({ query = '', variables = {}, operationName = '' }) {
    const search = { query: String(query), variables: JSON.stringify(variables), operationName: String(operationName) }
    return { method: 'GET', url: `/graphql?${new URLSearchParams(search)}` }
  },
}

/** The tool that waits for a job: requests to REST that respond when the job has changed. */
const waitTool: Tool = {
  name: 'wait_for_job',
  description:
    'Waits until a job is finished, and returns it. When the time is over, it returns the job as it is then.',
  inputSchema: {
    type: 'object',
    properties: {
      id: { type: 'string', description: 'The id of the job.' },
      seconds: { type: 'integer', minimum: 1, maximum: 60, description: 'The longest wait. 30 by default.' },
    },
    required: ['id'],
  },
  annotations: { readOnlyHint: true },
  run: ({ id }) => ({ method: 'GET', url: `/fusion/jobs/${toSegment('id', id)}` }),
  wait: {
    seconds({ seconds = 30 }) {
      const isPossible = Number.isInteger(seconds) && Number(seconds) >= 1 && Number(seconds) <= 60
      if (!isPossible) throw invalidField('seconds', 'OUT_OF_RANGE', 'must be an integer from 1 to 60')
      return Number(seconds)
    },
    isOver: (body) => !['pending', 'running'].includes(JSON.parse(body).status),
  },
}

/**
 * Creates a tool for each trusted document with a description, except subscriptions and what is invalid in this schema.
 */
function createDocumentTools({ prepare, schema }: Preparer, trusted: TrustedDocuments | undefined): Tool[] {
  const texts = [...(trusted?.texts ?? [])].filter((text) => text.includes('"""'))
  return texts.flatMap((query) => {
    const { operation } = prepare(query)
    const description = operation?.definition.description?.value
    if (!operation?.name || !description || operation.kind === 'subscription') return []
    return {
      name: toToolName(operation.name),
      description,
      inputSchema: variablesSchema(schema, operation.definition.variableDefinitions ?? []),
      annotations: { readOnlyHint: operation.kind === 'query' },
      run: (variables) => ({ method: 'POST', url: '/graphql', payload: { query, variables } }),
    }
  })
}

function variablesSchema(schema: graphql.GraphQLSchema, definitions: readonly graphql.VariableDefinitionNode[]) {
  const properties = definitions.map(({ variable, type, description }) => {
    const ofType = schemaOf(graphql.typeFromAST(schema, type) as graphql.GraphQLInputType)
    return [variable.name.value, { ...ofType, ...(description && { description: description.value }) }]
  })
  const required = definitions.filter(({ type, defaultValue }) => type.kind === 'NonNullType' && !defaultValue)
  return {
    type: 'object' as const,
    properties: Object.fromEntries(properties),
    required: required.map(({ variable }) => variable.name.value),
  }
}

/** Input types can contain themselves, so their fields are only described. */
function schemaOf(type: graphql.GraphQLInputType): Json {
  if (graphql.isNonNullType(type)) return schemaOf(type.ofType)
  if (graphql.isListType(type)) return { type: 'array', items: schemaOf(type.ofType) }
  if (graphql.isEnumType(type)) return { type: 'string', enum: type.getValues().map(({ name }) => name) }
  if (!graphql.isInputObjectType(type))
    return type.name === 'Date' ? { type: 'string', format: 'date' } : inputSchema(type)
  const fields = Object.values(type.getFields()).map((field) => `${field.name}: ${field.type}`)
  return { type: 'object', title: `${type.name} { ${fields.join(', ')} }` }
}

/**
 * Creates the tool that finds fields by up to 8 words. Each is a line: `user email` ⇒ `User.email: String # The email
 * address.`
 */
function createSearchTool(schema: graphql.GraphQLSchema): Tool {
  const types = Object.values(schema.getTypeMap()).filter(({ name }) => !name.startsWith('__'))
  const lines = types.flatMap(linesOf)
  return {
    name: 'search_schema',
    description: 'Finds fields of the GraphQL schema by words, or those of a type by its name. Queries start at Query.',
    inputSchema: { type: 'object', properties: { search: { type: 'string' } }, required: ['search'] },
    annotations: { readOnlyHint: true },
    run({ search }) {
      if (typeof search !== 'string') throw invalidField('search', 'INVALID_TYPE', 'must be a string')
      const words = search.toLowerCase().match(/\w+/g)?.slice(0, 8) ?? []
      const ranked = lines.map((line) => ({ line, rank: rankOf(line.toLowerCase(), words) }))
      const found = ranked.filter(({ rank }) => rank > 0).toSorted((one, other) => other.rank - one.rank)
      return [...found.slice(0, 60).map(({ line }) => line), `${found.length} found.`].join('\n')
    },
  }
}

/** The fields of a type that is named rank first, then what has a word as its name, in it, and elsewhere. */
function rankOf(line: string, words: readonly string[]): number {
  const [name = ''] = line.split(/[(: ]/, 1)
  const ranks = words.map((word) => {
    if (name.startsWith(`${word}.`)) return 9
    if (name.endsWith(`.${word}`)) return 4
    return name.includes(word) ? 3 : +line.includes(word)
  })
  return ranks.reduce((sum, rank) => sum + rank, 0)
}

/** The fields of a type, or the values of an enumeration. */
function linesOf(type: graphql.GraphQLNamedType): string[] {
  const fields = 'getFields' in type ? Object.values(type.getFields()) : []
  const members: Member[] = graphql.isEnumType(type) ? [...type.getValues()] : fields
  return members.map(({ name, args = [], type: of, description }) => {
    const signature = args.length > 0 ? `(${args.map((arg) => `${arg.name}: ${arg.type}`).join(', ')})` : ''
    const about = description ? ` # ${description.replaceAll(/\s+/g, ' ')}` : ''
    return `${type.name}.${name}${signature}${of ? `: ${of}` : ''}${about}`
  })
}

interface Member extends Pick<graphql.GraphQLEnumValue, 'name' | 'description'> {
  readonly args?: readonly graphql.GraphQLArgument[]
  readonly type?: graphql.GraphQLType
}
