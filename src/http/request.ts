import type { FastifyRequest } from 'fastify'
import type { Authenticator } from '../auth/authenticate.ts'
import type { Viewer } from '../auth/viewer.ts'
import { type Context, createContext } from '../context.ts'
import type { StatementCount, StatementMeter } from '../db/statement-meter.ts'
import type { Admit } from '../limits/admission.ts'
import type { Services } from '../services.ts'
import type { RequestTrace } from '../tracing.ts'
import type { ChooseReads } from './choose-reads.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Who asks; null on the routes that need no key. */
    viewer: Viewer | null
    /** The SQL statements sent for this request. */
    sqlCount: StatementCount
    /** The name of the GraphQL operation, for the log. */
    operation: string | undefined
    /** The trace of this request; undefined where none is made. */
    trace: RequestTrace | undefined
  }
}

/** What the routes of either face are made with. */
export interface RouteDependencies {
  readonly services: Services
  readonly meter: StatementMeter
  readonly authenticator: Authenticator
  readonly admit: Admit
  readonly chooseReads: ChooseReads
}

/** The key of a request is read before its body, so that nobody without one can make the gateway read a body. */
export function createAuthenticateHook({ authenticator, meter }: RouteDependencies) {
  return async function authenticate(request: FastifyRequest): Promise<Viewer> {
    const header = request.headers['x-api-key']
    const key = Array.isArray(header) ? header[0] : header
    // Others may wait for the same key to be found, so that is not given up when this client goes.
    request.viewer = await meterToItsEnd(meter, request, () => authenticator.authenticate(key))
    return request.viewer
  }
}

/** Counts and traces the statements of `work` as the request's, but sends them even when its client has gone. */
export async function meterToItsEnd<Result>(
  meter: StatementMeter,
  { sqlCount }: FastifyRequest,
  work: () => Promise<Result>,
): Promise<Result> {
  const count: StatementCount = { statements: 0, observe: sqlCount.observe }
  try {
    return await meter.run(count, work)
  } finally {
    sqlCount.statements += count.statements
  }
}

/** A context for the viewer of a request that has been authenticated. */
export function contextOf(request: FastifyRequest, services: Services): Context {
  return createContext(services, viewerOf(request), request.log, request.trace)
}

/** Who sent a request that has been authenticated. */
export function viewerOf({ viewer }: FastifyRequest): Viewer {
  if (!viewer) throw new Error('This route runs without authentication')
  return viewer
}
