// The operations that the page has sent: the console shows them, so that it teaches the API.

import { createStore } from './html.ts'
import { root } from './router.ts'

export interface SentOperation {
  /** `query`, `mutation` or `subscription`. */
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

/**
 * Records that an operation was sent.
 *
 * @returns a function that records the headers of its response, or that it has failed
 */
export function recordOperation(query: string, variables: unknown): (headers?: Headers) => void {
  const [, type = '', name = ''] = /^(\w+) (\w+)/.exec(query) ?? []
  const facts = type === 'subscription' ? 'follows changes' : 'running'
  const operation: SentOperation = { type, name, query, variables, facts }
  const others = operations.get().filter((other) => other.query !== query)
  operations.set([operation].concat(others).slice(0, maxOperations))
  const began = performance.now()
  return (headers) => {
    const time = `${Math.round(performance.now() - began)} ms`
    const cost = headers?.get('x-cost')
    const [, statements] = /db;desc="([^"]+)"/.exec(headers?.get('server-timing') ?? '') ?? []
    operation.facts = headers ? `${cost} point${cost === '1' ? '' : 's'} · ${time} · SQL: ${statements}` : 'failed'
    operations.set([...operations.get()])
  }
}

/** The address of GraphiQL with an operation. The fragment stays in the browser. */
export function graphiqlUrl({ query, variables }: SentOperation): string {
  return `${root}graphql#${new URLSearchParams({ query, variables: JSON.stringify(variables, null, 2) })}`
}

/** A command that sends an operation, without the key. */
export function curlOf({ query, variables, type }: SentOperation): string {
  const text = query.replaceAll(/\s+/g, ' ').trim()
  const body = JSON.stringify({ query: text, variables }).replaceAll("'", String.raw`'\''`)
  const stream = type === 'subscription' ? "-N -H 'accept: text/event-stream' " : ''
  return `curl -sS ${stream}${location.origin}${root}graphql -H "x-api-key: $KEY" -H 'content-type: application/json' -d '${body}'`
}
