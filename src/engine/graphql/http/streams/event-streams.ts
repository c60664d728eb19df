import { randomUUID } from 'node:crypto'
import type { PassThrough } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { holderOf } from '../../../auth/viewer.ts'
import { watchCredential } from '../../../auth/watch-credential.ts'
import { GatewayError } from '../../../errors.ts'
import type { Authenticate } from '../../../http/authenticate.ts'
import { onFlushed, viewerOf } from '../../../http/request.ts'
import { createKeySlots } from '../../../limits/key-slots.ts'
import { closeWithClient, createLiveBody } from './live-body.ts'

/** An event stream, on which a client receives the results of all its operations. */
export interface EventStream {
  /**
   * Opens the stream.
   *
   * @returns its body
   * @throws GatewayError STREAM_IN_USE if it is open already
   */
  open(reply: FastifyReply): PassThrough
  /**
   * Begins an operation.
   *
   * @param id the client's id of the operation
   * @throws GatewayError STREAM_IN_USE if an operation with the same id is running
   */
  begin(id: string): StreamedOperation
  /** Stops an operation, if it is running. */
  stop(id: string): void
}

/** An operation whose results are sent on an event stream. */
export interface StreamedOperation {
  /** Aborts when the client has stopped the operation or has gone. */
  readonly signal: AbortSignal
  /** Resolves when there is room for the next result. */
  send(result: object): Promise<void>
  /** Calls back when the client has received the results so far, or has gone. */
  onFlushed(done: () => void): void
  /** Ends the operation, and tells the client. */
  complete(): Promise<void>
}

/** The event streams of all clients. */
export interface EventStreams {
  /**
   * Reserves a stream for the viewer of a request.
   *
   * @returns the token that further requests for this stream send
   * @throws GatewayError RATE_LIMITED if the key has too many streams, SERVICE_UNAVAILABLE if the gateway stops
   */
  reserve(request: FastifyRequest): Promise<string>
  /**
   * Finds the stream whose token a request sends.
   *
   * @throws GatewayError NOT_FOUND, the same for an unknown token and for one that another viewer has reserved
   */
  find(request: FastifyRequest): EventStream
  /** Ends each stream when none of its operations is running, and reserves no more. */
  close(): void
}

export interface EventStreamsOptions {
  readonly authenticate: Authenticate
  /** The maximum number of streams of a key. */
  readonly maxPerKey?: number | undefined
  readonly heartbeatMilliseconds?: number | undefined
  /** How long a reserved stream waits for its client. */
  readonly reservationMilliseconds?: number | undefined
}

const tokenHeader = 'x-graphql-event-stream-token'

interface OwnedStream extends EventStream {
  readonly owner: string
  endWhenIdle(): void
}

/**
 * Creates the event streams of graphql-sse's single connection mode: browsers open only six connections per host on HTTP/1.1.
 * graphql-sse's own handler, which Yoga's plugin uses, keeps reservations forever, lets everyone attach to a stream whose token
 * they know, and keeps results without bound for a client that does not read them.
 *
 * @see https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md#single-connection-mode
 */
export function createEventStreams({
  authenticate,
  maxPerKey = 100,
  heartbeatMilliseconds,
  reservationMilliseconds = 30_000,
}: EventStreamsOptions): EventStreams {
  const streams = new Map<string, OwnedStream>()
  const slots = createKeySlots(maxPerKey, 'event streams', 'MAX_SUBSCRIPTIONS_PER_KEY')
  let isClosing = false

  function createStream(owner: string, onClose: () => void): OwnedStream {
    const body = createLiveBody(':\n\n', heartbeatMilliseconds)
    const operations = new Map<string, AbortController>()
    let reply: FastifyReply | undefined
    let isRejected = false
    let stopWatching = () => {}
    const expiry = setTimeout(() => body.stream.destroy(), reservationMilliseconds).unref()
    body.signal.addEventListener('abort', () => {
      clearTimeout(expiry)
      stopWatching()
      for (const operation of operations.values()) operation.abort()
      onClose()
    })

    function endWhenIdle(): void {
      if (operations.size > 0) return
      body.end()
      // A body that nobody reads does not end.
      if (!reply) body.stream.destroy()
    }

    return {
      owner,
      open(opened) {
        if (reply)
          throw new GatewayError('STREAM_IN_USE', 'The event stream is open already. Reserve another one by PUT.')
        reply = opened
        clearTimeout(expiry)
        closeWithClient(body.stream, opened)
        // Its operations check their own credentials.
        stopWatching = watchCredential(
          () => authenticate(opened.request),
          () => {
            isRejected = true
            endWhenIdle()
          },
        )
        // Some browsers show an answer only when its first byte has arrived.
        body.stream.write(':\n\n')
        return body.stream
      },
      begin(id) {
        if (operations.has(id))
          throw new GatewayError('STREAM_IN_USE', 'An operation with this operationId is running.')
        const stopped = new AbortController()
        operations.set(id, stopped)
        return {
          signal: stopped.signal,
          send: (payload) => body.send(eventOf('next', { id, payload })),
          onFlushed: (done) => (reply ? onFlushed(reply)(done) : done()),
          async complete() {
            if (!stopped.signal.aborted) await body.send(eventOf('complete', { id })).catch(() => undefined)
            if (operations.get(id) === stopped) operations.delete(id)
            if (isClosing || isRejected) endWhenIdle()
          },
        }
      },
      stop(id) {
        operations.get(id)?.abort()
        operations.delete(id)
      },
      endWhenIdle,
    }
  }

  return {
    async reserve(request) {
      const release = await slots.take(viewerOf(request))
      if (isClosing) {
        release()
        throw new GatewayError('SERVICE_UNAVAILABLE', 'The gateway is stopping.')
      }
      const token = randomUUID()
      const onClose = () => {
        streams.delete(token)
        release()
      }
      streams.set(token, createStream(holderOf(viewerOf(request)), onClose))
      return token
    },
    find(request) {
      const { token = request.headers[tokenHeader] } = request.query as { token?: unknown }
      const stream = streams.get(String(token))
      if (stream && stream.owner === holderOf(viewerOf(request))) return stream
      throw new GatewayError('NOT_FOUND', 'There is no such event stream. Reserve one by PUT, and send its token.')
    },
    close() {
      isClosing = true
      for (const stream of streams.values()) stream.endWhenIdle()
    },
  }
}

function eventOf(event: 'next' | 'complete', data: object): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
}
