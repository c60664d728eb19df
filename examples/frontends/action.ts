/** Runs what a person asked for. `send` sends the mutation with the header `Idempotency-Key`, or the option `action` of a recipe. */
export type Action = <Result>(send: (key: string) => Promise<Result>) => Promise<Result>

/** The gateway may still execute the request, or have executed it. */
const unknownOutcomes = ['SERVICE_UNAVAILABLE', 'REQUEST_TIMEOUT', 'RATE_LIMITED', 'IDEMPOTENCY_KEY_IN_USE', 'INTERNAL']

/**
 * Creates what a form or button runs its mutation with. The key stays the same until the gateway has answered: a second click after a
 * response was lost repeats the request, which the gateway executes once.
 */
export function createAction(): Action {
  let key: string | undefined
  return async (send) => {
    key ??= crypto.randomUUID()
    try {
      const result = await send(key)
      // Apollo Client and urql can return the error.
      if (isAnswer((result as { error?: unknown } | undefined)?.error)) key = undefined
      return result
    } catch (error) {
      if (isAnswer(error)) key = undefined
      throw error
    }
  }
}

interface WithErrors {
  readonly errors?: readonly { readonly extensions?: { readonly code?: unknown } }[]
  readonly graphQLErrors?: WithErrors['errors']
}

function isAnswer(error: unknown): boolean {
  if (error === undefined) return true
  const { errors, graphQLErrors = errors ?? [] } = error as WithErrors
  return (
    graphQLErrors.length > 0 &&
    !graphQLErrors.some(({ extensions }) => unknownOutcomes.includes(String(extensions?.code)))
  )
}
