// The address is the state of a page: its path names the page and the selected object, its query the filters.

import { createStore, useStore } from './html.ts'

export type Params = Readonly<Record<string, string>>

interface Route {
  readonly page: string
  readonly id: string | undefined
  readonly params: Params
}

/** The address of the gateway: `/`, or the path below which a proxy serves it. */
export const root = new URL('../../', import.meta.url).pathname

function read(): Route {
  const [, page = '', id] = location.pathname.slice(root.length).split('/')
  return { page, id: id && decodeURIComponent(id), params: Object.fromEntries(new URLSearchParams(location.search)) }
}

const route = createStore(read())

export const useRoute = () => useStore(route)

// A relative address of the icon would change with that of the page.
document.querySelector('link[rel=icon]')?.setAttribute('href', `${root}favicon.svg`)

addEventListener('popstate', () => route.set(read()))

interface NavigateOptions {
  /** Whether the address before cannot be gone back to. */
  readonly replace?: boolean
}

export function navigate(href: string, { replace = false }: NavigateOptions = {}): void {
  history[replace ? 'replaceState' : 'pushState'](null, '', href)
  route.set(read())
}

/** The address of an object, or of the list, with the filters of now. */
export function hrefOf(page: string, id?: string, params: Params = route.get().params): string {
  const query = new URLSearchParams(Object.entries(params).filter(([, value]) => value)).toString()
  return `${root}console/${page}${id ? `/${encodeURIComponent(id)}` : ''}${query && `?${query}`}`
}

/** Changes filters. An empty one is removed. */
export function setParams(changed: Params, options?: NavigateOptions): void {
  const { page, id, params } = route.get()
  navigate(hrefOf(page, id, { ...params, ...changed }), options)
}

// Links of the console do not load the document again.
document.addEventListener('click', (event) => {
  if (!(event.target instanceof Element)) return
  const link = event.target.closest<HTMLAnchorElement>(`a[href^="${root}console"]`)
  const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey
  if (!link || link.target || !isPlain || event.defaultPrevented) return
  event.preventDefault()
  navigate(link.getAttribute('href') ?? '')
})

/** The text if it is one of the values. */
export const oneOf = <Value extends string>(values: readonly Value[], text: string | undefined): Value | undefined =>
  values.find((value) => value === text)
