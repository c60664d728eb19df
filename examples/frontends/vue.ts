import { type MaybeRefOrGetter, shallowRef, toValue, watchEffect } from 'vue'
import type { Send } from './send.ts'

/** A query of a component. It is sent again when its variables change: `useQuery(send, document, () => ({ id: props.id }))`. */
export function useQuery<Data>(send: Send, document: string, variables: MaybeRefOrGetter<object> = {}) {
  const data = shallowRef<Data>()
  const withheld = shallowRef<readonly string[]>([])
  const error = shallowRef<Error>()
  watchEffect(async (onCleanup) => {
    const abandoned = new AbortController()
    onCleanup(() => abandoned.abort())
    try {
      const sent = await send<Data>(document, toValue(variables), { signal: abandoned.signal })
      data.value = sent.data
      withheld.value = sent.withheld
      error.value = undefined
    } catch (thrown) {
      if (!abandoned.signal.aborted) error.value = thrown as Error
    }
  })
  return { data, withheld, error }
}
