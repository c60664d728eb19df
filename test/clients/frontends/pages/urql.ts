import type { ClientOptions } from '@fusion-gateway/client'
import { createUrqlClient, withheld } from '@fusion-gateway/client/urql'
import type { OperationResult } from '@urql/core'
import { textOf } from '../documents.ts'
import { endCursorOf, type Library } from '../page.ts'

export { startPage } from '../page.ts'

export function connect(options: ClientOptions): Library {
  const client = createUrqlClient(options)
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
    mutate: (document, variables, action) => client.mutation(textOf(document), variables, { action }).toPromise(),
    follow: (document, variables, show) => void client.subscription(textOf(document), variables).subscribe(show),
  }
}
