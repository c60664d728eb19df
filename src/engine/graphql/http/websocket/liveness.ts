import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'

/** How much a client may send before the gateway knows it. */
const maxBytesOfStranger = 16 * 1024

export interface LivenessOptions {
  readonly heartbeatMilliseconds: number
  /** How long a client may send nothing, not even the reply to a ping. */
  readonly idleMilliseconds: number
  /** Whether the client's credential is valid. */
  isKnown(): boolean
  /** Called with each heartbeat when a client has sent nothing for that long. Its connection ends if it sends nothing for as long again. */
  onSilence(): void
}

/**
 * Pings a client, and ends its connection if it is silent for too long, or if it sends much before its credential: the gateway reads no
 * message of 1 MiB for a client without one.
 */
export function watchClient(socket: WebSocket, connection: Socket, options: LivenessOptions): void {
  const { heartbeatMilliseconds, idleMilliseconds, isKnown, onSilence } = options
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
    if (!isKnown() && connection.bytesRead - bytesBefore > maxBytesOfStranger) socket.terminate()
  })
}
