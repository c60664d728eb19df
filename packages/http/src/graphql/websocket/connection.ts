import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { RequestState } from '@fusion-gateway/gateway-kit'
import { type Metrics, Refusal } from '@fusion-gateway/telemetry'
import type { FastifyBaseLogger } from 'fastify'
import type { WebSocket } from 'ws'
import { requestIdOf } from '../../plugins/request-lifecycle.ts'

/** How many bytes a client may leave unread before the gateway reads nothing more from it. */
const maxBacklogBytes = 64 * 1024

export type Flow = ReturnType<typeof createFlow>

/** Stops reading from a client while something waits, so that TCP slows the client down, and nothing is lost. */
export function createFlow(socket: WebSocket) {
  let holds = 0
  let releaseBacklog: (() => void) | undefined

  /** Stops reading. Returns a function that reads on, when nothing else holds the socket. */
  function hold(): () => void {
    holds += 1
    socket.pause()
    return () => {
      holds -= 1
      if (holds === 0) socket.resume()
    }
  }

  /** Writes a frame. Resolves when the client's connection has taken it, and rejects if it has not. */
  function write(start: (done: (error?: Error) => void) => void): Promise<void> {
    if (socket.readyState !== socket.OPEN) return Promise.resolve()
    return new Promise((resolve, reject) => {
      start((error) => {
        if (socket.bufferedAmount <= maxBacklogBytes) {
          releaseBacklog?.()
          releaseBacklog = undefined
        }
        if (error) reject(error)
        else resolve()
      })
      if (socket.bufferedAmount > maxBacklogBytes) releaseBacklog ??= hold()
    })
  }

  return {
    hold,
    send: (text: string) => write((done) => socket.send(text, done)),
    pong: (data: Buffer) => write((done) => socket.pong(data, false, done)),
  }
}

/** Codes of RFC 6455. */
const [goingAway, messageTooBig] = [1001, 1009]

/** A close frame has room for a reason of so many bytes. */
const maxReasonBytes = 123

/** Closes a connection with a reason in ASCII, whose end is cut off if it is too long. */
export function close(socket: WebSocket, code: number, reason: string): void {
  socket.close(code, reason.slice(0, maxReasonBytes))
}

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

/** Breaks off the subscriptions of a connection, and closes it. Its client connects again and subscribes again. */
export function leave(connection: Connection, reason: string): void {
  connection.leaving ??= reason
  for (const interrupt of connection.interruptions) interrupt()
  closeIfDone(connection)
}

export function closeIfDone({ socket, running, leaving }: Connection): void {
  if (leaving !== undefined && running.size === 0) close(socket, goingAway, leaving)
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

/** How much a client may send before the gateway knows it. */
const maxBytesBeforeCredential = 16 * 1024

interface LivenessOptions {
  readonly heartbeatMilliseconds: number
  /** How long a client may send nothing, not even the reply to a ping. */
  readonly idleMilliseconds: number
  /** Whether the client's credential is valid. */
  hasCredential(): boolean
  /** Called when a client without a valid credential has sent too much. */
  onExcess(): void
  /** Called with each heartbeat of a silent client. The connection ends if it stays silent as long again. */
  onSilence(): void
}

/**
 * Pings a client, and ends its connection if it is silent for too long, or if it sends much before its credential: the
 * gateway keeps no message of 1 MiB for a client without one.
 */
export function watchClient(socket: WebSocket, connection: Socket, options: LivenessOptions): void {
  const { heartbeatMilliseconds, idleMilliseconds, hasCredential, onExcess, onSilence } = options
  const bytesBefore = connection.bytesRead
  let heardAt = performance.now()
  const timer = setInterval(() => {
    const silence = performance.now() - heardAt
    if (silence > 2 * idleMilliseconds) return socket.terminate()
    if (silence > idleMilliseconds) onSilence()
    socket.ping()
  }, heartbeatMilliseconds).unref()
  socket.once('close', () => clearInterval(timer))
  // Before ws reads the data.
  connection.prependListener('data', () => {
    heardAt = performance.now()
    if (hasCredential() || connection.bytesRead - bytesBefore <= maxBytesBeforeCredential) return
    onExcess()
    refuse(socket, connection)
  })
}

/**
 * Closes a connection, and drops what the client still sends until it has read why. ws ends the connection after a
 * second at the latest.
 */
function refuse(socket: WebSocket, connection: Socket): void {
  connection.removeAllListeners('data').resume()
  close(socket, messageTooBig, 'Before connection_ack, messages have at most 16 KiB together.')
  connection.end()
}
