import * as graphql from 'graphql'
import type { TrustedDocuments } from '../engine/graphql/http/trusted-documents.ts'
import type { Preparer } from '../engine/graphql/operation/prepare/prepare.ts'
import { inputSchema, type Json } from '../rest/openapi/json-schema.ts'
import { type Tool, toToolName } from './tool.ts'

/** The tool `query`. A GET never executes a mutation. */
export const queryTool: Tool = {
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

/**
 * Creates a tool for each trusted document with a description, except subscriptions and what is invalid in this schema.
 */
export function createDocumentTools({ prepare, schema }: Preparer, trusted: TrustedDocuments | undefined): Tool[] {
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
    const ofType = schemaOf(graphql.typeFromAST(schema, type as never) as graphql.GraphQLInputType)
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
