import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import { close } from './close.ts'

/** How much a client may send before the gateway knows it. */
const maxBytesBeforeCredential = 16 * 1024

/** The code of RFC 6455 for a message that is too long. */
const messageTooBig = 1009

export interface LivenessOptions {
  readonly heartbeatMilliseconds: number
  /** How long a client may send nothing, not even the reply to a ping. */
  readonly idleMilliseconds: number
  /** Whether the client's credential is valid. */
  hasCredential(): boolean
  /** Called when a client without a valid credential has sent too much. */
  onExcess(): void
  /**
   * Called with each heartbeat when a client has sent nothing for that long. Its connection ends if it sends nothing
   * for as long again.
   */
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
