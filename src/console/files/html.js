import htm from 'htm'
import { h } from 'preact'
import { useEffect, useReducer } from 'preact/hooks'

/** Renders a template: `html\`<p class="x">${text}</p>\``. */
export const html = htm.bind(h)

/** A value with subscribers. */
export function createStore(value) {
  const subscribers = new Set()
  return {
    get: () => value,
    set(next) {
      value = next
      for (const notify of subscribers) notify()
    },
    subscribe(notify) {
      subscribers.add(notify)
      return () => subscribers.delete(notify)
    },
  }
}

/** Reads a store, and renders again when it changes. */
export function useStore(store) {
  const [, render] = useReducer((count) => count + 1, 0)
  useEffect(() => store.subscribe(render), [store])
  return store.get()
}
