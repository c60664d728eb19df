import { getSetCookies, type Headers } from 'undici'

/** Keeps the cookies of one fetch: some servers set a cookie, redirect, and redirect again until they get it. */
export function createCookies() {
  const byOrigin = new Map<string, Map<string, string>>()
  return {
    /** Stores what a response sets. Only its own origin gets it back. */
    store({ origin }: URL, headers: Headers): void {
      const cookies = byOrigin.get(origin) ?? new Map<string, string>()
      byOrigin.set(origin, cookies)
      for (const { name, value, maxAge } of getSetCookies(headers)) {
        if (maxAge !== undefined && maxAge <= 0) cookies.delete(name)
        else cookies.set(name, value)
      }
    },
    /** The header `cookie` of a request. */
    headerFor({ origin }: URL): { readonly cookie?: string } {
      const pairs = [...(byOrigin.get(origin) ?? [])].map(([name, value]) => `${name}=${value}`)
      return pairs.length > 0 ? { cookie: pairs.join('; ') } : {}
    },
  }
}
