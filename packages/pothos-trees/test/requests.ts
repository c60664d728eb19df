import { type DocumentNode, type ExecutionResult, parse, validate } from 'graphql'
import { expect } from 'vitest'
import { executePlanned } from './blog/execute.ts'
import { schema } from './blog/schema.ts'
import type { Blogs } from './open-blogs.ts'

interface Request {
  readonly blogId?: string
  readonly scopes?: readonly string[]
  readonly operationName?: string
  readonly variables?: Readonly<Record<string, unknown>>
}

/** Runs an operation for a viewer of a blog, as a server does. Returns what it has sent too. */
export async function run({ contextOf, statements }: Blogs, source: string | DocumentNode, request: Request = {}) {
  const { blogId = 'first', scopes = [], variables = {}, operationName } = request
  const document = typeof source === 'string' ? parse(source) : source
  expect(validate(schema, document)).toEqual([])
  const contextValue = contextOf(blogId, scopes)
  statements.length = 0
  const { data, errors = [] } = (await executePlanned({
    schema,
    document,
    operationName,
    variableValues: variables,
    contextValue,
  })) as ExecutionResult<Record<string, unknown>>
  return { data: JSON.parse(JSON.stringify(data ?? null)), errors, statements: [...statements] }
}
