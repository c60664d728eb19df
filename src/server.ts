import type { FastifyInstance } from 'fastify'

/** How long answers under way may take after the gateway was told to stop. */
const graceMilliseconds = 10_000

/** Resolves when the process is told to stop: SIGINT or SIGTERM. To be called first of all, so that none is missed. */
export function untilToldToStop(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGINT', () => resolve()).once('SIGTERM', () => resolve())
  })
}

/**
 * Listens until the process is told to stop: then no new connection is taken, what is under way is answered, and the
 * rest is cut after ten seconds, or at the second signal.
 *
 * @param toldToStop from `untilToldToStop`
 * @param onListening told the address once the gateway listens
 * @returns when the last connection is closed
 * @throws the system's error when it cannot listen there
 */
export async function listenUntilStopped(
  app: FastifyInstance,
  { host, port }: { host: string; port: number },
  toldToStop: Promise<void>,
  onListening: (address: string) => void,
): Promise<void> {
  onListening(await app.listen({ host, port }))
  await toldToStop
  app.log.info('stopping')
  const cut = () => app.server.closeAllConnections()
  const timer = setTimeout(cut, graceMilliseconds)
  process.once('SIGINT', cut).once('SIGTERM', cut)
  await app.close()
  clearTimeout(timer)
  app.log.info('stopped')
}
