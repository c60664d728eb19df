import type { FastifyReply } from 'fastify'
import type { Database } from '../../db/database.ts'
import { readMigrationStatus } from '../../db/migrations/migrations.ts'
import { query, statement } from '../../db/statement.ts'
import { routePlugin } from '../plugin.ts'

const isStandby = statement('SELECT pg_is_in_recovery()')

/**
 * Serves the probes. `/health` responds while the process runs. `/ready` responds with 200 while the gateway is not stopping and the
 * database answers, accepts writes, and has every migration of this version. Otherwise the log has the reason. The response does not,
 * because anyone can request it.
 */
export const health = routePlugin<{ database: Database }>('health', (app, { database }) => {
  let isStopping = false
  app.addHook('preClose', async () => {
    isStopping = true
  })

  app.route({ method: ['GET', 'HEAD'], url: '/health', handler: async () => ({ status: 'ok' }) })

  app.route({
    method: ['GET', 'HEAD'],
    url: '/ready',
    async handler(request, reply) {
      if (isStopping) return notReady(reply)
      try {
        database.driver.requireSpace?.()
        const { pending, failed } = await readMigrationStatus(database.sql)
        const [[standby] = []] = await query(database.sql, isStandby)
        if (pending.length === 0 && failed.length === 0 && standby === false) return { status: 'ready' }
        if (standby !== false) request.log.warn('not ready: the database server is a standby')
        else request.log.warn({ pending, failed }, 'not ready: migrations are missing')
      } catch (error) {
        request.log.warn({ err: error }, 'not ready: the database cannot be used')
      }
      return notReady(reply)
    },
  })
})

function notReady(reply: FastifyReply): FastifyReply {
  return reply.code(503).header('retry-after', '5').send({ status: 'not ready' })
}
