// The operations that the page has sent: the console shows them, so that it teaches the API.

import { createStore } from './html.ts'
import { root } from './router.ts'

export interface SentOperation {
  /** `query` or `mutation`. */
  readonly type: string
  readonly name: string
  readonly query: string
  readonly variables: unknown
  /** Its state, and then what it cost. */
  facts: string
}

/** The newest operation first; a repeated one only once. */
export const operations = createStore<readonly SentOperation[]>([])

const maxOperations = 12

/** Whether an operation is a query with `@live`. */
export const isLive = (query: string) => /^query[^{]+@live\b/.test(query)

/**
 * Records that an operation was sent.
 *
 * @returns a function that records the headers of its response, the revision of a live one, or that it has failed
 */
export function recordOperation(query: string, variables: unknown): (outcome?: Headers | number) => void {
  const [, type = '', name = ''] = /^(\w+) (\w+)/.exec(query) ?? []
  const operation: SentOperation = { type, name, query, variables, facts: 'running' }
  const others = operations.get().filter((other) => other.query !== query)
  operations.set([operation].concat(others).slice(0, maxOperations))
  const began = performance.now()
  return (outcome) => {
    operation.facts = factsOf(outcome, Math.round(performance.now() - began))
    operations.set([...operations.get()])
  }
}

function factsOf(outcome: Headers | number | undefined, milliseconds: number): string {
  if (outcome === undefined) return 'failed'
  if (typeof outcome === 'number') return `revision ${outcome}`
  const cost = outcome.get('x-cost')
  const [, statements] = /db;desc="([^"]+)"/.exec(outcome.get('server-timing') ?? '') ?? []
  return `${cost} point${cost === '1' ? '' : 's'} · ${milliseconds} ms · SQL: ${statements}`
}

/** The address of GraphiQL with an operation. The fragment stays in the browser. */
export function graphiqlUrl({ query, variables }: SentOperation): string {
  return `${root}graphql#${new URLSearchParams({ query, variables: JSON.stringify(variables, null, 2) })}`
}

/** A command that sends an operation, without the key. */
export function curlOf({ query, variables }: SentOperation): string {
  const text = query.replaceAll(/\s+/g, ' ').trim()
  const body = JSON.stringify({ query: text, variables }).replaceAll("'", String.raw`'\''`)
  const stream = isLive(query) ? "-N -H 'accept: text/event-stream' " : ''
  return `curl -sS ${stream}${location.origin}${root}graphql -H "x-api-key: $KEY" -H 'content-type: application/json' -d '${body}'`
}
