import htm from 'htm'
import { type Attributes, type ComponentChildren, createElement, type FunctionComponent, type VNode } from 'preact'
import { useEffect, useReducer } from 'preact/hooks'

/**
 * Renders a template of elements: `html\`<p class="x">${text}</p>\``. Templates have no types, so components are
 * created with `h`.
 */
export const html: (texts: TemplateStringsArray, ...values: readonly unknown[]) => VNode | VNode[] =
  htm.bind(createElement)

/** Creates a component, whose props are checked. */
export const h = <Props extends object>(
  component: (props: Props) => ComponentChildren,
  props: NoInfer<Props> & Attributes,
  ...children: ComponentChildren[]
): VNode<Props> => createElement(component as FunctionComponent<Props>, props, ...children)

/** A value with subscribers. */
export interface Store<Value> {
  get(): Value
  set(next: Value): void
  /** @returns a function that ends the subscription */
  subscribe(notify: () => void): () => void
}

export function createStore<Value>(value: Value): Store<Value> {
  const subscribers = new Set<() => void>()
  return {
    get: () => value,
    set(next) {
      value = next
      for (const notify of subscribers) notify()
    },
    subscribe(notify) {
      subscribers.add(notify)
      return () => {
        subscribers.delete(notify)
      }
    },
  }
}

/** Reads a store, and renders again when it changes. */
export function useStore<Value>(store: Store<Value>): Value {
  const [, render] = useReducer<number, void>((count) => count + 1, 0)
  useEffect(() => store.subscribe(() => render()), [store])
  return store.get()
}
