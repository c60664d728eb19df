import { errorsOf } from './errors.ts'

/** Runs what a person asked for. `send` sends the mutation, with the key as its `action`. */
export type Action = <Result>(send: (key: string) => Promise<Result>) => Promise<Result>

/** The gateway may still execute the request, or have executed it. */
const unknownOutcomes = [
  'SERVICE_UNAVAILABLE',
  'REQUEST_TIMEOUT',
  'RATE_LIMITED',
  'IDEMPOTENCY_KEY_IN_USE',
  'INTERNAL',
  'NOT_GRAPHQL',
]

/**
 * Creates what a form or button runs its mutation with. The key stays the same until the gateway has answered: a second click after a
 * response was lost repeats the request, which the gateway executes once.
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
      // Apollo Client and urql can return the error.
      const { error } = (result ?? {}) as { error?: unknown }
      if (error === undefined || isAnswer(error)) forget()
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

function isAnswer(error: unknown): boolean {
  const errors = errorsOf(error)
  return errors.length > 0 && !errors.some(({ extensions }) => unknownOutcomes.includes(String(extensions?.code)))
}
