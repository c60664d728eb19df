import { type ClientOptions, nameHeaders } from './core.ts'
import { createSend, type Send } from './fetch.ts'
import type { Result } from './request.ts'
import { createTokens } from './tokens.ts'

/** What a token may see. Without `userId` it sees the tenant, by the scopes. */
export interface TokenInput {
  readonly userId?: string
  readonly scopes?: readonly string[]
  readonly expiresInSeconds?: number
}

export interface TokenServerOptions extends Pick<ClientOptions, 'clientName' | 'clientVersion'> {
  /** `https://gateway.example.com/graphql`. */
  readonly url: string
  /** A key with the scope `tokens:create` and the scopes of the tokens. */
  readonly apiKey: string
  /** The id of `tokenDocument` at a gateway whose trusted documents have it under one. Its text is sent by default. */
  readonly documentId?: string
}

export interface TokenHandlerOptions extends TokenServerOptions {
  /** What the signed-in person may see, by the session of your application. Undefined: nobody is signed in. */
  readonly inputFor: (request: Request) => Promise<TokenInput | undefined>
}

/** A gateway with trusted documents in the mode `only` must know this one too. */
export const tokenDocument = `mutation CreateToken($input: CreateAccessTokenInput!) {
  createAccessToken(input: $input) { accessToken expiresAt userErrors { code message } }
}`

/**
 * Creates the token backend, a standard handler of requests: `export const POST = createTokenHandler(…)`. `createTokens` asks it.
 *
 * | Response | When |
 * |---|---|
 * | 200 | `{ accessToken, expiresAt, expiresInSeconds }` |
 * | 401 | Nobody is signed in |
 * | 429, 503 | The gateway answered so, with its `Retry-After`. 503 also if it did not answer, or a proxy answered 502 or 504 |
 * | 500 | Another attempt fails too. `{ code, message }` says why, such as API_KEY_REJECTED or DOCUMENT_NOT_TRUSTED |
 */
export function createTokenHandler(options: TokenHandlerOptions): (request: Request) => Promise<Response> {
  return async (request) => {
    const input = await options.inputFor(request)
    return input ? createToken(options, input) : failure(401, 'SIGNED_OUT', 'Sign in first.')
  }
}

/**
 * Creates what a page that is rendered on a server reads with, as the user of the session: `await send(document)` in a server component of
 * Next.js, or in a `loader` of React Router. Create one for each request: it holds the token of one person.
 */
export function createSendAs(options: TokenServerOptions & Omit<ClientOptions, 'token'>, input: TokenInput): Send {
  const { documentId, apiKey, ...others } = options
  const fetchToken = () => createToken(options, { expiresInSeconds: 120, ...input })
  return createSend({ ...others, token: createTokens({ fetchToken }) })
}

/** Asks the gateway for a token. */
async function createToken(options: TokenServerOptions, input: TokenInput): Promise<Response> {
  const { url, apiKey, documentId } = options
  const document = documentId === undefined ? { query: tokenDocument } : { documentId }
  let response: Response
  try {
    response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-api-key': apiKey,
        ...nameHeaders(options),
      },
      body: JSON.stringify({ ...document, variables: { input: { expiresInSeconds: 900, ...input } } }),
      // Next.js must not keep a token for other visitors.
      cache: 'no-store',
    })
  } catch {
    return failure(503, 'GATEWAY_UNREACHABLE', 'The gateway did not answer.')
  }
  const { data, errors: [error] = [] } = (await response.json().catch(() => ({}))) as Result
  const { accessToken, expiresAt, userErrors } = (data?.['createAccessToken'] ?? {}) as CreateAccessToken
  if (accessToken && expiresAt) {
    const expiresInSeconds =
      (Date.parse(expiresAt) - (Date.parse(response.headers.get('date') ?? '') || Date.now())) / 1_000
    return Response.json({ accessToken, expiresAt, expiresInSeconds }, { headers: noStore })
  }
  const [userError] = userErrors ?? []
  if (userError) return failure(500, userError.code, userError.message)
  // A proxy answers 502 and 504 while the gateway starts again.
  const isDown = [502, 503, 504].includes(response.status)
  const code = error?.extensions?.code ?? (isDown ? 'GATEWAY_UNREACHABLE' : 'NO_TOKEN')
  if (code === 'UNAUTHENTICATED') {
    return failure(
      500,
      'API_KEY_REJECTED',
      'The gateway rejects the API key of the token backend: it was revoked, or has expired.',
    )
  }
  const status = isDown ? 503 : response.status === 429 ? 429 : 500
  const type = response.headers.get('content-type') ?? 'no content type'
  const message = error?.message ?? `${url} answered ${response.status} (${type}) without a token.`
  return failure(status, code, message, response.headers.get('retry-after'))
}

interface CreateAccessToken {
  readonly accessToken?: string | null
  readonly expiresAt?: string | null
  readonly userErrors?: readonly { readonly code: string; readonly message: string }[]
}

const noStore = { 'cache-control': 'no-store' }

function failure(status: number, code: string, message: string, retryAfter?: string | null): Response {
  const headers = { ...noStore, ...(retryAfter && { 'retry-after': retryAfter }) }
  return Response.json({ code, message }, { status, headers })
}
