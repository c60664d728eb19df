import { createClient, type ExecutionResult, type RequestParams, type Sink } from 'graphql-sse'
import type { Tokens } from './tokens.ts'

/** Subscribes. Returns a function that ends the subscription. */
export type Subscribe = (
  request: RequestParams,
  sink: Sink<ExecutionResult<Record<string, unknown>, unknown>>,
) => () => void

/**
 * Creates subscriptions, each with a connection of its own. A subscription whose token has expired starts again, with a new token.
 *
 * @param url `https://gateway.example.com/graphql`
 */
export function createSubscriptions(url: string, tokens: Tokens): Subscribe {
  let isReconnecting = false
  const client = createClient({
    url,
    on: {
      connecting(again) {
        isReconnecting = again
      },
    },
    // Called for each connection, right after `connecting`.
    headers: async () => ({
      authorization: `Bearer ${await (isReconnecting ? tokens.renew() : tokens.current())}`,
    }),
  })

  return (request, sink) => {
    let stop = () => {}
    let isStopped = false
    let mayRenew = true

    function start(): void {
      if (isStopped) return
      let isRejected = false
      stop = client.subscribe(request, {
        next(result) {
          isRejected = mayRenew && hasExpired(result)
          if (isRejected) return
          mayRenew = true
          sink.next(result)
        },
        error: (error) => sink.error(error),
        complete() {
          if (!isRejected) return sink.complete()
          mayRenew = false
          tokens.renew().then(start, (error: unknown) => sink.error(error))
        },
      })
    }

    start()
    return () => {
      isStopped = true
      stop()
    }
  }
}

function hasExpired({ errors = [] }: Pick<ExecutionResult, 'errors'>): boolean {
  return errors.some(({ extensions }) => extensions['code'] === 'UNAUTHENTICATED')
}
