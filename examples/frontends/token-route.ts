import { createTokenHandler } from '@fusion-gateway/client/server'

/** Who is signed in, by the session of your application. */
interface Session {
  readonly userId: string
  readonly isStaff: boolean
}

/** Creates the route of Next.js, in `app/token/route.ts`: `export const POST = createTokenRoute(readSession)`. */
export function createTokenRoute(readSession: (request: Request) => Promise<Session | undefined>) {
  return createTokenHandler({
    url: process.env['GATEWAY_URL'] ?? 'https://gateway.example.com/graphql',
    apiKey: process.env['GATEWAY_KEY'] ?? '',
    clientName: 'creator-app',
    async inputFor(request) {
      const session = await readSession(request)
      // The page calls `onSignedOut`.
      if (!session) return undefined
      // Staff see the tenant, and others what is theirs.
      if (session.isStaff) return { scopes: ['users:read', 'profiles:read', 'jobs:read'] }
      return { userId: session.userId, scopes: ['users:read', 'users:write', 'profiles:read'] }
    },
  })
}
