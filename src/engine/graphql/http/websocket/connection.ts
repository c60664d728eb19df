import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'
import type { WebSocket } from 'ws'
import type { RequestState } from '../../../http/request.ts'
import { requestIdOf } from '../../../http/server/server-options.ts'
import type { Metrics } from '../../../telemetry/metrics.ts'
import { Refusal } from '../../../telemetry/refusal.ts'

/** A WebSocket of a client, from its upgrade to its close. */
export interface Connection extends Pick<RequestState, 'viewer' | 'statements' | 'refusal' | 'log'> {
  readonly id: string
  readonly socket: WebSocket
  readonly raw: Socket
  /** Those of the upgrade, or the credential and the names of `connection_init`. */
  headers: RequestState['headers']
  readonly running: Set<AsyncGenerator<unknown>>
  /** Each breaks off one of its subscriptions, without a message to the client. */
  readonly interruptions: Set<() => void>
  readonly silenceListeners: Set<() => void>
  operations: number
  /** Set once the gateway closes the connection, as soon as its queries and mutations are finished: the reason. */
  leaving?: string
  /** Set while the credential is valid: releases the permit of the connection, and stops watching the credential. */
  release?: () => void
}

/** Returns the connection of an upgrade that was accepted, without a viewer yet. */
export function createConnection(
  socket: WebSocket,
  raw: Socket,
  upgrade: IncomingMessage,
  { log, metrics }: { readonly log: FastifyBaseLogger; readonly metrics: Metrics },
): Connection {
  const id = requestIdOf(upgrade)
  return {
    id,
    socket,
    raw,
    viewer: null,
    headers: upgrade.headers,
    statements: { statements: 0 },
    log: log.child({ requestId: id }),
    refusal: new Refusal(metrics),
    operations: 0,
    running: new Set(),
    interruptions: new Set(),
    silenceListeners: new Set(),
  }
}

/** Logs the end of a connection, with what refused it. */
export function logClosed(
  { log, viewer, statements, refusal, operations }: Connection,
  closeCode: number,
  milliseconds: number,
): void {
  const { tenantAppId: tenant, keyName: key } = viewer ?? {}
  const durationMs = Math.round(milliseconds)
  const { limit } = refusal
  log.info(
    { tenant, key, closeCode, limit, operations, durationMs, sql: statements.statements },
    'a WebSocket was closed',
  )
}
