import { isAnswer } from './failure.ts'

/** Runs what a person asked for. `send` sends the mutation, with the key as its `action`. */
export type Action = <Result>(send: (key: string) => Promise<Result>) => Promise<Result>

/**
 * Creates what a form or button runs its mutation with. The key stays the same until the gateway has answered: a second
 * click after a response was lost repeats the request, which the gateway executes once.
 *
 * @returns a function that throws, with each client, if the mutation was not executed, or this is not known: Apollo
 *   Client and urql return such an error, and a form would close as if it had saved. `failureOf` says what the error
 *   means
 */
export function createAction(): Action {
  let key: string | undefined
  return async (send) => {
    key ??= createKey()
    const sent = key
    // A later action has another key.
    const forget = () => {
      if (key === sent) key = undefined
    }
    try {
      const result = await send(sent)
      const { data, error } = (result ?? {}) as { readonly data?: object | null; readonly error?: unknown }
      if (error != null && !isExecuted(data)) throw error
      forget()
      return result
    } catch (error) {
      if (isAnswer(error)) forget()
      throw error
    }
  }
}

/** The header of a mutation, which the core sends again with the same key. */
export function mutationHeaders(action = createKey()): { readonly 'idempotency-key': string } {
  return { 'idempotency-key': action }
}

/** `crypto.randomUUID` is missing from pages without TLS. */
function createKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** A field of the result can fail, such as one whose scope is missing. The mutation was executed. */
const isExecuted = (data: object | null | undefined) =>
  data != null && Object.values(data).every((payload) => payload !== null)
