import type { z } from 'zod'

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
  /** The variable that it becomes, or the field of one: `input.id`. It names the parameter in errors. */
  readonly variable: string
  readonly description: string
  /** The rules by which the operation checks the value, for the OpenAPI document. */
  readonly rules: z.ZodType
  /** A value of the demo tenant, which Swagger UI and Postman send, so optional parameters rarely have one. */
  readonly example?: unknown
  /** Whether its entries are repetitions of the parameter, which may have commas. */
  readonly isRepeated?: true
}

export interface Body {
  /** The variable that it becomes. It has the variable's type. */
  readonly variable: string
  /** Fields of the type that the body does not have, by their names in GraphQL. */
  readonly without?: readonly string[]
  readonly description: string
  /** The rules by which the operation checks its fields or its list, for the OpenAPI document. */
  readonly rules: z.ZodObject | z.ZodArray
  readonly example: unknown
  readonly isOptional?: boolean
}

/**
 * A REST route: a GraphQL operation, how a request becomes its variables, and which part of its data is the response.
 */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** In Fastify's syntax: `/users/:id`. */
  readonly url: string
  readonly summary: string
  readonly description?: string
  /** The operation, without fragments. Its aliases are the keys of the response. */
  readonly operation: string
  readonly parameters: readonly Parameter[]
  readonly body?: Body
  /** Reads the variables, whose types are checked afterwards. Inputs have their names in REST. May throw. */
  readonly variables: (input: RouteInput) => Record<string, unknown>
  /** The path of the response in the data: `createUser.user`. Null is a 404. A DELETE responds with 204 alone. */
  readonly response: string
  /** The path in the data of the time of the last change, for which writes to the URL take `If-Match`. */
  readonly version?: string
  /** The key of the response in the body. Without it, the response is the body. */
  readonly listKey?: string
  /** The name in the OpenAPI document of the schema of the response, or of its elements. A DELETE has none. */
  readonly component?: string
  /** The path of what the operation has created. With it, the status is 201. */
  readonly location?: (response: { id: string }) => string
  /**
   * Texts of the MCP tool where those of REST speak of HTTP: its `description`, and those of parameters by their names.
   */
  readonly tool?: Readonly<Record<string, string>>
  /** The route that this one repeats by another method. It needs no tool of MCP of its own. */
  readonly repeats?: Route
  /** The connection that a list is read from, page by page. */
  readonly connection?: string
  /** Whether the whole list is streamed without `limit` and `cursor`. */
  readonly streams?: boolean
}
