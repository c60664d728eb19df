import type { Socket } from 'node:net'
import { plugin } from '../plugin.ts'

/** How long a connection waits at most, so that clients who connect again and again delay no other. */
const maxMilliseconds = 20

/** The socket may fail while it waits. Its `close` says so. */
const ignore = () => undefined

/**
 * Accepts all connections that wait before it reads from new ones. Node accepts one connection per round of the event
 * loop: a hundred clients that connect at once and send long requests would keep the next client waiting for a hundred
 * rounds of their work.
 */
export const acceptFirst = plugin('acceptFirst', ({ server }) => {
  const [serve] = server.listeners('connection') as [(socket: Socket) => void]
  let waiting: Socket[] = []
  let waitsSince = 0
  let hasAccepted = false

  /** Runs at the end of a round. */
  function endRound(): void {
    if (hasAccepted && performance.now() - waitsSince < maxMilliseconds) {
      hasAccepted = false
      setImmediate(endRound)
      return
    }
    const accepted = waiting
    waiting = []
    for (const socket of accepted) {
      socket.off('error', ignore)
      if (!socket.destroyed) serve.call(server, socket)
    }
  }

  server.off('connection', serve).on('connection', (socket: Socket) => {
    hasAccepted = true
    if (waiting.length === 0) {
      waitsSince = performance.now()
      setImmediate(endRound)
    }
    waiting.push(socket.on('error', ignore))
  })
})
