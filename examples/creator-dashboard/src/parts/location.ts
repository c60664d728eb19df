import { useSyncExternalStore } from 'react'

const changed = 'navigated'

function subscribe(listener: () => void): () => void {
  for (const event of ['popstate', changed]) addEventListener(event, listener)
  return () => {
    for (const event of ['popstate', changed]) removeEventListener(event, listener)
  }
}

/** The address of the page. It has the state of lists, so that links and the back button work. */
export function useAddress(): URL {
  return new URL(useSyncExternalStore(subscribe, () => location.href))
}

/**
 * Opens an address of this page.
 *
 * @param options.replace whether the back button skips the present address
 */
export function navigate(address: string, { replace = false } = {}): void {
  history[replace ? 'replaceState' : 'pushState'](null, '', address)
  dispatchEvent(new Event(changed))
}

/** The address with other parameters: an empty value removes one. */
export function withParams(address: URL, params: Readonly<Record<string, string>>): string {
  const next = new URL(address)
  for (const [name, value] of Object.entries(params)) {
    if (value === '') next.searchParams.delete(name)
    else next.searchParams.set(name, value)
  }
  return `${next.pathname}${next.search}`
}
