// The operations that the page has sent: the console shows them, so that it teaches the API.

import { createStore } from './html.js'

/** The newest operation first; a repeated one only once. */
export const operations = createStore([])

const maxOperations = 12

/**
 * Records that an operation was sent.
 *
 * @returns a function that records the headers of its response, or that it has failed
 */
export function recordOperation(query, variables) {
  const [, type, name] = /^(\w+) (\w+)/.exec(query)
  const operation = { type, name, query, variables, facts: type === 'subscription' ? 'follows changes' : 'running' }
  const others = operations.get().filter((other) => other.query !== query)
  operations.set([operation, ...others].slice(0, maxOperations))
  const began = performance.now()
  return (headers) => {
    const time = `${Math.round(performance.now() - began)} ms`
    const cost = headers?.get('x-cost')
    const [, statements] = /db;desc="([^"]+)"/.exec(headers?.get('server-timing')) ?? []
    operation.facts = headers ? `${cost} point${cost === '1' ? '' : 's'} · ${time} · SQL: ${statements}` : 'failed'
    operations.set([...operations.get()])
  }
}

/** The address of GraphiQL with an operation. The fragment stays in the browser. */
export function graphiqlUrl({ query, variables }) {
  return `/graphql#${new URLSearchParams({ query, variables: JSON.stringify(variables, null, 2) })}`
}

/** A command that sends an operation, without the key. */
export function curlOf({ query, variables, type }) {
  const text = query.replaceAll(/\s+/g, ' ').trim()
  const body = JSON.stringify({ query: text, variables }).replaceAll("'", String.raw`'\''`)
  const stream = type === 'subscription' ? "-N -H 'accept: text/event-stream' " : ''
  return `curl -sS ${stream}${location.origin}/graphql -H "x-api-key: $KEY" -H 'content-type: application/json' -d '${body}'`
}
