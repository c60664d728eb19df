import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'

/** A gateway with trusted documents in the mode `only` must know this one too. */
export const tokenDocument = `mutation CreateToken($input: CreateAccessTokenInput!) {
  createAccessToken(input: $input) { accessToken expiresAt }
}`

export interface TokenBackendOptions {
  /** The URL of the gateway: `https://gateway.example.com/graphql`. */
  readonly url: string
  /** A key with the scope `tokens:create` and the scopes of the tokens. */
  readonly apiKey: string
  /** What the signed-in person may see, by the session of your application. Undefined: nobody is signed in. */
  inputFor(request: FastifyRequest): Promise<{ userId?: string; scopes?: string[] } | undefined>
}

/** Creates a backend that answers `POST /token` with an access token for the person who is signed in. */
export function createTokenBackend(options: TokenBackendOptions): FastifyInstance {
  const app = Fastify()
  app.post('/token', async (request, reply) => {
    reply.header('cache-control', 'no-store')
    const input = await options.inputFor(request)
    if (!input) return reply.code(401).send({ error: 'Sign in first.' })
    const response = await fetch(options.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': options.apiKey },
      body: JSON.stringify({ query: tokenDocument, variables: { input: { ...input, expiresInSeconds: 900 } } }),
    })
    const { data } = (await response.json()) as { data?: { createAccessToken: { accessToken: string | null } } }
    if (!data?.createAccessToken.accessToken) return reply.code(502).send({ error: 'The gateway created no token.' })
    return data.createAccessToken
  })
  return app
}
