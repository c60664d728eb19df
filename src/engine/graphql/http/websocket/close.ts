import type { WebSocket } from 'ws'

/** A close frame has room for a reason of so many bytes. */
const maxReasonBytes = 123

/** Closes a connection with a reason in ASCII, whose end is cut off if it is too long. */
export function close(socket: WebSocket, code: number, reason: string): void {
  socket.close(code, reason.slice(0, maxReasonBytes))
}
