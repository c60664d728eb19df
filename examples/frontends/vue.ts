import { type MaybeRefOrGetter, shallowRef, toValue, watchEffect } from 'vue'
import type { Send } from './send.ts'

/** A query of a component. It is sent again when its variables change: `useQuery(send, document, () => ({ id: props.id }))`. */
export function useQuery<Data>(send: Send, document: string, variables: MaybeRefOrGetter<object> = {}) {
  const data = shallowRef<Data>()
  const error = shallowRef<Error>()
  watchEffect(async (onCleanup) => {
    const abandoned = new AbortController()
    onCleanup(() => abandoned.abort())
    try {
      data.value = await send<Data>(document, toValue(variables), abandoned.signal)
      error.value = undefined
    } catch (thrown) {
      if (!abandoned.signal.aborted) error.value = thrown as Error
    }
  })
  return { data, error }
}
