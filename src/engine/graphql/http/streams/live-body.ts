import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import type { FastifyReply } from 'fastify'

/** The body of an answer that is sent in parts while things happen. */
export interface LiveBody {
  readonly stream: PassThrough
  /** Aborts when the body has ended or its client has gone. */
  readonly signal: AbortSignal
  /**
   * Sends a part, after the parts before it. Resolves when there is room for the next part, so that no parts pile up for a client that does not read.
   *
   * @throws AbortError if the body has ended
   */
  send(part: string): Promise<void>
  /** Ends the body after the parts that were sent. */
  end(lastPart?: string): void
}

/** How often a heartbeat is sent: below the timeouts of proxies, as Yoga does. */
const defaultHeartbeat = 12_000

/**
 * Creates a body.
 *
 * @param heartbeat a part that clients ignore. It keeps the connection open while nothing happens
 */
export function createLiveBody(heartbeat: string, heartbeatMilliseconds = defaultHeartbeat): LiveBody {
  const stream = new PassThrough()
  const ended = new AbortController()
  const { signal } = ended
  let sending = Promise.resolve()
  const timer = setInterval(() => {
    // A client that does not read gets no second one.
    if (stream.readableLength === 0 && stream.writable) stream.write(heartbeat)
  }, heartbeatMilliseconds).unref()
  stream.once('close', () => {
    clearInterval(timer)
    ended.abort()
  })

  async function write(part: string): Promise<void> {
    signal.throwIfAborted()
    if (!stream.write(part)) await once(stream, 'drain', { signal })
  }

  return {
    ...{ stream, signal },
    send(part) {
      const sent = sending.then(() => write(part))
      sending = sent.catch(() => undefined)
      return sent
    },
    end(lastPart) {
      void sending.then(() => stream.end(lastPart))
    },
  }
}

/** Destroys the body of an answer when its client goes, also before the body is sent. */
export function closeWithClient(stream: PassThrough, { raw }: FastifyReply): void {
  raw.once('close', () => stream.destroy())
  if (raw.closed) stream.destroy()
}
