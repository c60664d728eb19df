import type { Dispatcher } from 'undici'

/** The headers that `fetch` adds because browsers send them. Some servers refuse them from other programs. */
const browserHeaders = new Set(['sec-fetch-mode', 'accept-language'])

/** An interceptor that leaves them out. */
export function withoutBrowserHeaders(dispatch: Dispatcher['dispatch']): Dispatcher['dispatch'] {
  return (options, handler) => {
    const sent = Object.entries(options.headers ?? {}).filter(([name]) => !browserHeaders.has(name.toLowerCase()))
    return dispatch({ ...options, headers: Object.fromEntries(sent) }, handler)
  }
}
