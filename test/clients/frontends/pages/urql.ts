import type { ClientOptions } from '@fusion-gateway/client'
import { cacheOptions, createUrqlClient, withheld } from '@fusion-gateway/client/urql'
import type { OperationResult } from '@urql/core'
import type { DataFields } from '@urql/exchange-graphcache'
import { textOf } from '../documents.ts'
import { endCursorOf, type Library } from '../page.ts'

export { startPage } from '../page.ts'

export function connect(options: ClientOptions): Library {
  /** What the page shows until there is a response, by the names of fields. */
  let expected: Readonly<Record<string, DataFields>> = {}
  const optimistic = { updateUser: () => expected['updateUser'] ?? null }
  const client = createUrqlClient({ ...options, cache: { ...cacheOptions, optimistic } })
  return {
    watch(document, variables, show) {
      let last: OperationResult | undefined
      const read = (next: object) =>
        client.query(textOf(document), next).subscribe((result) => {
          last = result
          show(result)
        })
      let subscription = read(variables)
      const change = (next: object) => {
        subscription.unsubscribe()
        subscription = read(next)
      }
      return {
        change,
        more: async () => change({ ...variables, after: endCursorOf(last?.data) }),
        withheld: (path) => withheld(last?.error, path),
        hide: () => subscription.unsubscribe(),
      }
    },
    mutate(document, variables, action, expectedData = {}) {
      expected = expectedData as typeof expected
      return client.mutation(textOf(document), variables, { action }).toPromise()
    },
    follow: (document, variables, show) => void client.subscription(textOf(document), variables).subscribe(show),
  }
}
