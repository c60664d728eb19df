import type { Send, Sent } from '@fusion-gateway/client/fetch'
import { type MaybeRefOrGetter, shallowRef, toValue, watchEffect } from 'vue'

/** A query of a component. It is sent again when its variables change: `useQuery(send, document, () => ({ id: props.id }))`. */
export function useQuery<Data>(send: Send, document: string, variables: MaybeRefOrGetter<object> = {}) {
  const sent = shallowRef<Sent<Data>>()
  const error = shallowRef<Error>()
  watchEffect(async (onCleanup) => {
    const abandoned = new AbortController()
    onCleanup(() => abandoned.abort())
    try {
      sent.value = await send<Data>(document, toValue(variables), { signal: abandoned.signal })
      error.value = undefined
    } catch (thrown) {
      if (!abandoned.signal.aborted) error.value = thrown as Error
    }
  })
  return { sent, error }
}
