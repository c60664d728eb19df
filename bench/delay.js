import { connect, createServer } from 'node:net'

/**
 * Starts a TCP proxy that delays all data, as a network does.
 *
 * @param {string} url the URL of a PostgreSQL database
 * @param {number} milliseconds the delay of each direction
 * @returns the URL of the database through the proxy, and `close()`
 */
export async function startDelay(url, milliseconds) {
  const target = new URL(url)
  const sockets = new Set()
  const forward = (from, to) => {
    sockets.add(from)
    from.setNoDelay(true)
    // Timers of the same duration run in the order in which they were set, so the data keeps its order.
    from.on('data', (chunk) => setTimeout(() => to.write(chunk), milliseconds))
    from.on('end', () => setTimeout(() => to.end(), milliseconds))
    from.on('error', () => to.destroy())
    from.on('close', () => sockets.delete(from))
  }
  const server = createServer((client) => {
    const database = connect(Number(target.port || 5432), target.hostname)
    forward(client, database)
    forward(database, client)
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const delayed = new URL(url)
  delayed.hostname = '127.0.0.1'
  delayed.port = String(server.address().port)
  return {
    url: delayed.href,
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
