import type { FastifyInstance } from 'fastify'

/** How long answers under way may take after the gateway was told to stop. */
const graceMilliseconds = 10_000

/**
 * Listens until the process is told to stop (SIGINT, SIGTERM): then no new connection is taken, what is under way is
 * answered, and the rest is cut after ten seconds, or at the second signal.
 *
 * @param onListening told the address once the gateway listens
 * @returns when the last connection is closed
 */
export async function listenUntilStopped(
  app: FastifyInstance,
  { host, port }: { host: string; port: number },
  onListening: (address: string) => void,
): Promise<void> {
  onListening(await app.listen({ host, port }))
  await untilSignal()
  const cut = () => app.server.closeAllConnections()
  const timer = setTimeout(cut, graceMilliseconds)
  process.once('SIGINT', cut).once('SIGTERM', cut)
  await app.close()
  clearTimeout(timer)
}

function untilSignal(): Promise<void> {
  return new Promise((resolve) => {
    const stop = () => {
      process.off('SIGINT', stop).off('SIGTERM', stop)
      resolve()
    }
    process.on('SIGINT', stop).on('SIGTERM', stop)
  })
}
