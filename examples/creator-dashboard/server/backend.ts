import { randomBytes } from 'node:crypto'
import path from 'node:path'
import cookie from '@fastify/cookie'
import proxy from '@fastify/http-proxy'
import files from '@fastify/static'
import Fastify, { type FastifyError, type FastifyInstance, type FastifyRequest } from 'fastify'
import { createGateway, GatewayProblem, type Grant } from './gateway.ts'
import type { Settings } from './settings.ts'

const pages = path.resolve(import.meta.dirname, '../dist')
const secondsOfSession = 12 * 3_600

/** Only this origin: a page can send the token nowhere else. */
const contentSecurityPolicy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

const grantSchema = {
  type: 'object',
  required: ['userId'],
  additionalProperties: false,
  properties: { userId: { type: ['string', 'null'], maxLength: 128 }, contacts: { type: 'boolean', default: false } },
}

/**
 * Creates the backend of the page: it serves the built files, signs people in, and passes `/graphql` on to the gateway, so that
 * the browser needs one origin. It does not listen.
 *
 * A session is a signed cookie that scripts cannot read. With it the page gets access tokens, which it keeps in memory.
 */
export async function createBackend(settings: Settings): Promise<FastifyInstance> {
  // Streams of events stay open until the client leaves.
  const app = Fastify({ forceCloseConnections: true })
  const gateway = createGateway(settings)
  // The operator reads why, and people read what they can do. First, because plugins use the handler of their registration.
  app.setErrorHandler<FastifyError>(({ statusCode = 500, message }, _, reply) => {
    if (statusCode >= 500) process.stderr.write(`${message}\n`)
    reply.code(statusCode).send({ message: statusCode >= 500 ? unavailable : message })
  })
  // Sessions end when the backend stops.
  await app.register(cookie, { secret: randomBytes(32) })
  // No GET: on a demo database the gateway answers browsers with GraphiQL, which has the API key.
  await app.register(proxy, {
    upstream: settings.gatewayUrl,
    prefix: '/graphql',
    rewritePrefix: '/graphql',
    httpMethods: ['POST'],
    replyOptions: { onError: (reply, { error }) => reply.send(proxyProblem(error)) },
  })
  await app.register(files, {
    root: pages,
    // The build has written a .br and a .gz of each file.
    preCompressed: true,
    cacheControl: false,
    // The names in the folder of assets change with the content.
    setHeaders: (reply, file) =>
      reply.header('cache-control', file.includes('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache'),
  })
  app.addHook('onSend', async (request, reply) => {
    reply.header('content-security-policy', contentSecurityPolicy).header('x-content-type-options', 'nosniff')
    if (request.url.startsWith('/api/')) reply.header('cache-control', 'no-store')
  })

  app.get('/api/users', () => gateway.listUsers())

  /** Your application checks a password or asks an identity provider here. */
  app.post<{ Body: Grant }>('/api/session', { schema: { body: grantSchema } }, async (request, reply) => {
    const session = await openSession(request.body)
    reply.setCookie('session', JSON.stringify(request.body), {
      signed: true,
      httpOnly: true,
      sameSite: 'strict',
      maxAge: secondsOfSession,
      ...cookieOptions(request),
    })
    return session
  })

  /** A new token for the session, or null without one. */
  app.get('/api/session', async (request, reply) => {
    const grant = grantOf(request)
    return reply.type('application/json').send(JSON.stringify(grant ? await openSession(grant) : null))
  })

  app.delete('/api/session', (request, reply) => reply.clearCookie('session', cookieOptions(request)).code(204).send())

  // The paths of the page, such as /jobs, are no files.
  app.setNotFoundHandler((request, reply) =>
    request.method === 'GET' && request.headers.accept?.includes('text/html')
      ? reply.sendFile('index.html')
      : reply.code(404).send({ message: 'There is nothing here.' }),
  )

  async function openSession(grant: Grant) {
    return { userId: grant.userId, ...(await gateway.mintToken(grant)) }
  }
  return app
}

/** What people read when the gateway does not serve a request. */
const unavailable = 'The service is not available at the moment. Try again in a minute.'

/** A gateway that does not answer is 502, 503 or 504, and no failure of this process. */
function proxyProblem(error: Error & { readonly statusCode?: number }): GatewayProblem {
  const { message, statusCode = 500 } = error
  return new GatewayProblem(`The gateway did not answer: ${message}`, statusCode === 500 ? 502 : statusCode)
}

/** Browsers send a secure cookie back only with TLS, which http://localhost does not have. A proxy says whether it has. */
function cookieOptions({ protocol, headers }: FastifyRequest) {
  const [forwarded] = String(headers['x-forwarded-proto'] ?? protocol).split(',')
  return { path: '/api', secure: forwarded?.trim() === 'https' }
}

function grantOf(request: FastifyRequest): Grant | undefined {
  const { valid, value } = request.unsignCookie(request.cookies['session'] ?? '')
  return valid ? JSON.parse(value) : undefined
}
