import type { FastifyReply } from 'fastify'
import type { Database } from '../../db/database.ts'
import { readMigrationStatus } from '../../db/migrations/migrations.ts'
import { readWriteProblems } from '../../db/write-problems.ts'
import { routePlugin } from '../plugin.ts'

/**
 * Serves the probes. `/health` responds while the process runs. `/ready` responds with 200 while the gateway neither
 * drains nor stops and the database answers, lets the role write every table, and has every migration of this version.
 * Otherwise the log has the reason. The response does not, because anyone can request it.
 */
export const health = routePlugin<{ database: Database; draining?: AbortSignal | undefined }>(
  'health',
  (app, options) => {
    const { database, draining } = options
    let isStopping = false
    app.addHook('preClose', async () => {
      isStopping = true
    })

    app.route({ method: ['GET', 'HEAD'], url: '/health', handler: async () => ({ status: 'ok' }) })

    app.route({
      method: ['GET', 'HEAD'],
      url: '/ready',
      async handler(request, reply) {
        if (isStopping || draining?.aborted) return notReady(reply)
        try {
          database.driver.requireSpace?.()
          const { pending, failed } = await readMigrationStatus(database.sql)
          const problems = await readWriteProblems(database.sql)
          if (pending.length === 0 && failed.length === 0 && problems.length === 0) return { status: 'ready' }
          if (problems.length > 0) request.log.warn(`not ready: ${problems.join(', ')}`)
          else request.log.warn({ pending, failed }, 'not ready: migrations are missing')
        } catch (error) {
          request.log.warn({ err: error }, 'not ready: the database cannot be used')
        }
        return notReady(reply)
      },
    })
  },
)

function notReady(reply: FastifyReply): FastifyReply {
  return reply.code(503).header('retry-after', '5').send({ status: 'not ready' })
}
