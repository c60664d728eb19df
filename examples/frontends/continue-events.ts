import { ApolloLink } from '@apollo/client/core'
import { ServerError } from '@apollo/client/errors'
import { RetryLink } from '@apollo/client/link/retry'
import { tap } from 'rxjs'
import type { Send } from './send.ts'

/**
 * Makes a subscription to `events` continue after an event that has arrived. The clients read the variables again whenever they connect. The
 * document has the variable `$after`, and selects the `id` of the events.
 */
export function continueAfter(variables: Record<string, unknown>, { data }: { readonly data?: unknown }): void {
  const { events } = (data ?? {}) as { events?: { id?: string } }
  if (events?.id !== undefined) variables['after'] = events.id
}

/**
 * The position from which a page follows `events`, for the variable `$after`: a page that has not received an event yet would lose those
 * of a restart. Read it before the data of the page. Undefined if the log has no event: then read the data again after a reconnect.
 */
export async function newestEvent(send: Send): Promise<string | undefined> {
  const { data } = await send<{ events: { nodes: { id: string }[] } }>(
    'query NewestEvent { events(last: 1) { nodes { id } } }',
  )
  return data.events.nodes[0]?.id
}

/** The links that make Apollo Client subscribe again when a connection breaks. They come before the `HttpLink`. */
export function createContinuingLink(maxDelayMilliseconds = 30_000): ApolloLink {
  const isRejected = (error: unknown) => ServerError.is(error) && error.statusCode < 500 && error.statusCode !== 429
  return ApolloLink.from([
    new RetryLink({
      attempts: (_count, { operationType }, error) => operationType === 'subscription' && !isRejected(error),
      delay: { max: maxDelayMilliseconds },
    }),
    new ApolloLink((operation, forward) =>
      forward(operation).pipe(tap((result) => continueAfter(operation.variables, result))),
    ),
  ])
}
