/** The headers that carry an API key, or an access token. */
export function credentialHeaders(key: string): Record<string, string> {
  const isToken = /^[\w-]+\.[\w-]+\.[\w-]+$/.test(key)
  return isToken ? { authorization: `Bearer ${key}` } : { 'x-api-key': key }
}
