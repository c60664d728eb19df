import type { WebSocket } from 'ws'

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
