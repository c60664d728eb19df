import { type ClientOptions, RequestError } from '@fusion-gateway/client'
import { createSend, follow, live, type Sent } from '@fusion-gateway/client/fetch'
import { QueryClient, QueryObserver, experimental_streamedQuery as streamedQuery } from '@tanstack/query-core'
import { textOf } from '../documents.ts'
import type { Library } from '../page.ts'

export { startPage } from '../page.ts'

/** With TanStack Query, which keeps whole responses and no objects. */
export function connect(options: ClientOptions): Library {
  const send = createSend(options)
  const queries = new QueryClient()
  /** What the page has read of the log: it follows from there. */
  let position: string | undefined
  return {
    watch(document, variables, show) {
      const optionsOf = (next: object) => ({
        queryKey: [document, next],
        queryFn: document.startsWith('Live')
          ? streamedQuery<Sent<unknown> | null, Sent<unknown> | null>({
              streamFn: ({ signal }) => live(send, textOf(document), next, { signal }),
              refetchMode: 'append',
              reducer: (_, sent) => sent,
              initialValue: null,
            })
          : async ({ signal }: { signal: AbortSignal }) => {
              const sent = await send(textOf(document), next, { signal, position: document === 'UsersQuery' })
              position ??= sent.position
              return sent
            },
        // The client waits for the network and the gateway. Single fields can fail in a response with 200.
        networkMode: 'always' as const,
        retry: (failures: number, error: Error) => failures < 3 && error instanceof RequestError && error.isTemporary,
      })
      const observer = new QueryObserver<Sent<unknown> | null>(queries, optionsOf(variables))
      const unsubscribe = observer.subscribe(({ data, error }) => show({ data: data?.data, error }))
      return {
        change: (next) => observer.setOptions(optionsOf(next)),
        withheld: (path) => observer.getCurrentResult().data?.withheld(path),
        hide: unsubscribe,
      }
    },
    mutate(document, variables, action, expected) {
      if (expected) queries.setQueriesData<Sent<unknown>>({}, (sent) => sent && withUser(sent, expected))
      return send(textOf(document), variables, { action })
    },
    async follow(document, variables, show) {
      try {
        for await (const result of follow(send, textOf(document), { after: position, ...variables })) show(result)
      } catch (error) {
        show({ error })
      }
    },
  }
}

/** The same result with the user whom a mutation changes. */
function withUser(sent: Sent<unknown>, expected: object): Sent<unknown> {
  const { user } = (expected as { updateUser: { user: { id: string } } }).updateUser
  const change = (_: string, value: unknown) =>
    (value as { id?: unknown } | null)?.id === user.id ? { ...(value as object), ...user } : value
  return { ...sent, data: JSON.parse(JSON.stringify(sent.data), change) }
}
