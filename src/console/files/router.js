// The address is the state of a page: its path names the page and the selected object, its query the filters.

import { createStore, useStore } from './html.js'

const read = () => {
  const [, , page = '', id] = location.pathname.split('/')
  return { page, id: id && decodeURIComponent(id), params: Object.fromEntries(new URLSearchParams(location.search)) }
}

const route = createStore(read())

export const useRoute = () => useStore(route)

addEventListener('popstate', () => route.set(read()))

export function navigate(href, { replace = false } = {}) {
  history[replace ? 'replaceState' : 'pushState'](null, '', href)
  route.set(read())
}

/** The address of an object, or of the list, with the filters of now. */
export function hrefOf(page, id, params = route.get().params) {
  const query = new URLSearchParams(Object.entries(params).filter(([, value]) => value)).toString()
  return `/console/${page}${id ? `/${encodeURIComponent(id)}` : ''}${query && `?${query}`}`
}

/** Changes filters. An empty one is removed. */
export function setParams(changed, options) {
  const { page, id, params } = route.get()
  navigate(hrefOf(page, id, { ...params, ...changed }), options)
}

// Links of the console do not load the document again.
document.addEventListener('click', (event) => {
  const link = event.target.closest?.('a[href^="/console"]')
  const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey
  if (!link || link.target || !isPlain || event.defaultPrevented) return
  event.preventDefault()
  navigate(link.getAttribute('href'))
})
