import type { z } from 'zod'

/** The parts of a request that a route reads. */
export interface RouteInput {
  readonly params: Readonly<Record<string, string>>
  /** A parameter that is given twice is an array. */
  readonly query: Readonly<Record<string, string | readonly string[] | undefined>>
  /** The JSON body; undefined if there is none. */
  readonly body: unknown
}

export interface Parameter {
  readonly in: 'path' | 'query'
  readonly name: string
  /** The variable that it becomes. It has the variable's type, and errors of the variable name the parameter. */
  readonly variable: string
  readonly description: string
  /** The rules of its value, for the OpenAPI document: those that the operation checks it against. */
  readonly rules: z.ZodType
  /** A value that is found in the demo tenant. */
  readonly example: unknown
}

export interface Body {
  /** The variable that it becomes. It has the variable's type. */
  readonly variable: string
  readonly without?: readonly string[]
  readonly description: string
  /** The rules of its fields or of its list, for the OpenAPI document: those that the operation checks it against. */
  readonly rules: z.ZodObject | z.ZodArray
  readonly example: unknown
  /** Whether a request can do without it. */
  readonly isOptional?: boolean
}

/** A REST route: a GraphQL operation, how a request becomes its variables, and which part of its data is the answer. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT'
  /** In Fastify's syntax: `/users/:id`. */
  readonly url: string
  readonly summary: string
  readonly description?: string
  /** The operation, without fragments. Its aliases are the keys of the answer. */
  readonly operation: string
  readonly parameters: readonly Parameter[]
  readonly body?: Body
  /** Reads the variables. May throw BAD_USER_INPUT. Their types are checked afterwards. */
  readonly variables: (input: RouteInput) => Record<string, unknown>
  /** The path of the answer in the operation's data: `createUser.user`. Null there is a 404. */
  readonly response: string
  /** The key of the answer in the body. Without it, the answer is the body. */
  readonly under?: string
  /** The name of the answer's schema, or of its elements' schema, in the OpenAPI document. */
  readonly component: string
  /** The URL of what the operation has created. With it, the status is 201. */
  readonly location?: (response: { id: string }) => string
  /** The connection that a list is read from, page by page. Without `limit` and `cursor`, the whole list is streamed. */
  readonly connection?: string
}
