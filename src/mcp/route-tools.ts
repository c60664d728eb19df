import { invalidField, ownValue } from '@fusion-gateway/base'
import type { Preparer } from '@fusion-gateway/gateway-kit'
import { jsonSchemaOf } from '@fusion-gateway/input'
import { defaultPageSize } from '@fusion-gateway/pothos-trees'
import type { Tool as Definition } from '@modelcontextprotocol/server'
import type { InjectOptions } from 'fastify'
import { isNonNullType } from 'graphql'
import { bodySchema, inputSchema } from '../rest/openapi/json-schema.ts'
import type { Route } from '../rest/route.ts'
import { type StoredOperation, storeOperation, typeAt } from '../rest/stored-operation.ts'

/** Creates the tool of a REST route. Its arguments are the parameters of the route and the fields of its body. */
export function createRouteTool(route: Route, preparer: Preparer): Tool {
  const stored = storeOperation(preparer, route.operation, route.response)
  const { method, url, summary, description = '', tool } = route
  return {
    name: toToolName(stored.operation.name),
    description: tool?.['description'] ?? `${summary}. ${description}`.trim(),
    inputSchema: inputSchemaOf(route, stored),
    annotations: { readOnlyHint: method === 'GET' },
    run: (args) => ({
      method,
      url: `${url.replace(/:(\w+)/g, (_, name: string) => toSegment(name, ownValue(args, name)))}?${searchOf(route, args)}`,
      ...(method !== 'GET' && { payload: args }),
    }),
  }
}

/** A URL cannot name the ids `.` and `..`: they would change its path. */
export function toSegment(name: string, id: unknown): string {
  if (typeof id === 'string' && id.isWellFormed() && !/^\.{0,2}$/.test(id)) return encodeURIComponent(id)
  throw invalidField(name, 'INVALID_FORMAT', 'must be an id')
}

function searchOf({ parameters, connection }: Route, args: Arguments): URLSearchParams {
  // Without a limit, REST streams the whole list.
  const given: Arguments = connection === undefined ? args : { ...args, limit: args['limit'] ?? defaultPageSize }
  const inQuery = parameters.filter((parameter) => parameter.in === 'query' && ownValue(given, parameter.name) != null)
  const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))
  return new URLSearchParams(
    inQuery.flatMap(({ name, isRepeated }) => {
      const value = ownValue(given, name)
      return (isRepeated ? [value].flat() : [value]).map((one) => [name, textOf(one)])
    }),
  )
}

function inputSchemaOf({ parameters, body, tool }: Route, stored: StoredOperation): Tool['inputSchema'] {
  const schemas = parameters.map(({ name, variable, rules, description }) => [
    name,
    {
      ...inputSchema(typeAt(stored, variable)),
      ...jsonSchemaOf(rules),
      description: ownValue(tool, name) ?? description,
    },
  ])
  const required = parameters.filter(({ variable }) => isNonNullType(typeAt(stored, variable))).map(({ name }) => name)
  // The optional body of a GET repeats a parameter.
  const ofBody = body && !body.isOptional ? bodySchema(body, typeAt(stored, body.variable)) : {}
  return {
    type: 'object',
    properties: { ...Object.fromEntries(schemas), ...(ofBody['properties'] as object) },
    required: [...required, ...((ofBody['required'] ?? []) as string[])],
  }
}

export type Arguments = Readonly<Record<string, unknown>>

export interface Tool extends Definition {
  /** Returns the request to REST or GraphQL that the tool stands for, or a text. May throw BAD_USER_INPUT. */
  run(args: Arguments): (InjectOptions & { readonly url: string }) | string
  /** How long the tool waits for another response, and whether a response is the one that it waits for. */
  readonly wait?: { seconds(args: Arguments): number; isOver(body: string): boolean }
}

/** `GetUser` ⇒ `get_user` */
export function toToolName(operationName = ''): string {
  return operationName.replace(/(?<=[a-z\d])(?=[A-Z])/g, '_').toLowerCase()
}
