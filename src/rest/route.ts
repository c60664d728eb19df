/** What a route reads of a request. */
export interface RouteInput {
  readonly params: Readonly<Record<string, string>>
  /** A parameter given twice is an array. */
  readonly query: Readonly<Record<string, string | readonly string[] | undefined>>
  /** The JSON body; undefined when there is none. */
  readonly body: unknown
}

/** A value that is sent in the path or in the query string. */
export interface Parameter {
  readonly in: 'path' | 'query'
  readonly name: string
  /** The variable that it becomes: its type in the operation is the parameter's, and refusals of it are the parameter's. */
  readonly variable: string
  readonly description: string
}

/** A value that is sent as the JSON body. */
export interface Body {
  /** The variable that it becomes. Its type in the operation is the body's. */
  readonly variable: string
  /** Fields of that type which the path says already. */
  readonly without?: readonly string[]
  readonly required: boolean
  readonly description: string
}

/** A REST route: a stored GraphQL operation, how its variables are read, and which part of its data is the answer. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT'
  /** As Fastify writes it: `/users/:id`. */
  readonly url: string
  readonly summary: string
  readonly description?: string
  /** The operation, without fragments. Its aliases are the keys of the answer. */
  readonly operation: string
  readonly parameters: readonly Parameter[]
  readonly body?: Body
  /** The operation's variables. May throw BAD_USER_INPUT; types are checked against the operation afterwards. */
  readonly variables: (input: RouteInput) => Record<string, unknown>
  /** Where in the operation's data the answer is: `createUser.user`. Null there means that nothing was found. */
  readonly answer: string
  /** The key that the answer stands under; the answer is the whole body when there is none. */
  readonly under?: string
  /** The name of the answer's (or of its elements') schema in the OpenAPI document. */
  readonly component: string
  /** Whether the operation made something: 201, with where it is in `Location`. */
  readonly makes?: (answer: { id: string }) => string
  /** For a list: the connection in the data that is read page by page. Without `limit` and `cursor` all of it is streamed. */
  readonly connection?: string
}
