import { z } from 'zod'
import { maxPageSize } from '../../engine/graphql/schema/connection.ts'
import { id, integer, matching } from '../../engine/input/rules.ts'
import type { Parameter } from '../route.ts'

/** The selection of the errors of a mutation. */
export const userErrors = 'userErrors { code message field }'

/**
 * The id in a path. Swagger UI and Postman send the example, so that of a route that deletes its row or changes its
 * state is a row that no other example needs.
 */
const idInPath =
  (name: string, first: string) =>
  (variable: string, example = first): Parameter => ({
    in: 'path',
    name: 'id',
    variable,
    description: `The id of the ${name}.`,
    rules: id,
    example,
  })

export const userId = idInPath('user', 'usr_demo_1')
export const accountId = idInPath('account', 'acc_demo_1_1')
export const jobId = idInPath('job', 'job_demo_1')

export const pageSize = (plural: string): Parameter => ({
  in: 'query',
  name: 'limit',
  variable: 'first',
  description: `The number of ${plural}: 1–500. 20 by default.`,
  rules: integer(1, maxPageSize),
  example: 20,
})

export const pageCursor: Parameter = {
  in: 'query',
  name: 'cursor',
  variable: 'after',
  description: 'The start of the page, from the last `Link`.',
  rules: z.string().check(matching(/^[\w-]+$/, 'must be a cursor')),
}

/** The description of the cursor in a tool of MCP. */
export const toolCursor = 'The start of the page: `next_cursor` of the page before.'
