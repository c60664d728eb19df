import { createSend, type Send } from './send.ts'
import { type TokenBackendOptions, tokenDocument } from './token-backend.ts'
import { createTokens } from './tokens.ts'

/**
 * Creates what a page that is rendered on a server reads with: `await send(document)` in a server component of Next.js, or in a
 * `loader` of React Router or Remix. It sees what the user sees, as the page in the browser does later.
 *
 * @param userId of the person whose session the request has. Create one for each request
 */
export function createSendAs(userId: string, { url, apiKey }: Pick<TokenBackendOptions, 'url' | 'apiKey'>): Send {
  const tokens = createTokens(async () => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': apiKey },
      body: JSON.stringify({ query: tokenDocument, variables: { input: { userId, expiresInSeconds: 120 } } }),
      // Next.js must not keep a token for other visitors.
      cache: 'no-store',
    })
    const { data } = await response.json()
    const created = data?.createAccessToken
    return Response.json(created ?? null, { status: created?.accessToken ? 200 : 502 })
  })
  return createSend(url, tokens)
}
