import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Database } from '../db/database.ts'
import { readMigrationStatus } from '../db/migrate.ts'

/**
 * Serves the probes. `/health`: the process is alive. `/ready`: it is not stopping, and the database answers and has every
 * migration of this version; why not stands in the log and not in the answer, since anybody may ask.
 */
export function registerHealth(app: FastifyInstance, database: Database): void {
  let isStopping = false
  app.addHook('preClose', async () => {
    isStopping = true
  })

  app.route({
    method: ['GET', 'HEAD'],
    url: '/health',
    handler: async () => ({ status: 'ok' }),
  })

  app.route({
    method: ['GET', 'HEAD'],
    url: '/ready',
    async handler(request, reply) {
      if (isStopping) return notReady(reply)
      try {
        const { pending, failed } = await readMigrationStatus(database.sql)
        if (pending.length === 0 && failed.length === 0) return { status: 'ready' }
        request.log.warn({ pending, failed }, 'not ready: migrations are not applied')
      } catch (error) {
        request.log.warn({ err: error }, 'not ready: the database does not answer')
      }
      return notReady(reply)
    },
  })
}

function notReady(reply: FastifyReply): FastifyReply {
  return reply.code(503).header('retry-after', '5').send({ status: 'not ready' })
}
