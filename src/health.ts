import { createAged } from '@fusion-gateway/base'
import { type Database, readWriteProblems } from '@fusion-gateway/database'
import { routePlugin } from '@fusion-gateway/http'
import { readMigrationStatus } from '@fusion-gateway/migrate'
import { isServerBusy, isServerLost } from '@fusion-gateway/sql'
import type { FastifyBaseLogger, FastifyReply } from 'fastify'

declare module 'fastify' {
  interface FastifyInstance {
    /** Checks whether `/ready` responds with 200 now. */
    isReady(): Promise<boolean>
  }
}

/** How long everyone gets the result of a check. */
const maxAgeMilliseconds = 1_000

/**
 * Serves the probes. `/health` responds while the process runs. `/ready` responds with 200 while the gateway neither
 * drains nor stops and the database answers, lets the role write every table, and has every migration of this version.
 * Otherwise the log has the reason. The response does not, because anyone can request it.
 *
 * Anyone can request it as often as they like, too: one check at a time, on a connection of its own, serves everyone
 * for a second. So it does not wait for requests either. A database that is only busy is ready: a gateway that leaves
 * its balancer then makes the others busier.
 */
export const health = routePlugin<{ database: Database; draining?: AbortSignal | undefined }>(
  'health',
  (app, { database, draining }) => {
    let isStopping = false
    app.addHook('preClose', async () => {
      isStopping = true
    })
    const isUsable = createAged(() => check(database, app.log))
    app.decorate(
      'isReady',
      async () => !isStopping && !draining?.aborted && (await isUsable.within(maxAgeMilliseconds)),
    )

    app.route({ method: ['GET', 'HEAD'], url: '/health', handler: async () => ({ status: 'ok' }) })

    app.route({
      method: ['GET', 'HEAD'],
      url: '/ready',
      handler: async (_request, reply) => ((await app.isReady()) ? { status: 'ready' } : notReady(reply)),
    })
  },
)

async function check(database: Database, log: FastifyBaseLogger, isRepeated = false): Promise<boolean> {
  const { driver, probe } = database
  const startedAt = performance.now()
  try {
    driver.requireSpace?.()
    const { pending, failed } = await readMigrationStatus(probe)
    const problems = await readWriteProblems(probe)
    if (problems.length > 0) log.warn(`not ready: ${problems.join(', ')}`)
    else if (pending.length > 0 || failed.length > 0) log.warn({ pending, failed }, 'not ready: migrations are missing')
    else return true
  } catch (error) {
    if (isServerBusy(error)) return true
    // The connection was lost since the last check. A new one tells whether the server is.
    const wasQuick = performance.now() - startedAt < maxAgeMilliseconds
    if (!isRepeated && wasQuick && isServerLost(error)) return check(database, log, true)
    log.warn({ err: error }, 'not ready: the database cannot be used')
  }
  return false
}

function notReady(reply: FastifyReply): FastifyReply {
  return reply.code(503).header('retry-after', '5').send({ status: 'not ready' })
}
