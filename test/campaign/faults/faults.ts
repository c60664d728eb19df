import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Cluster } from '../../support/cluster.ts'
import type { SupervisedProcess } from '../processes/supervised-process.ts'
import type { Happening } from './plan.ts'

/**
 * The faults of a process.
 *
 * @param kind `gateway` or `worker`
 */
export function faultsOfProcess(process: SupervisedProcess, kind: string): Record<string, Happening> {
  const { proxy } = process
  const disturbConnections = (disturb: () => void) => async (seconds: number) => {
    disturb()
    await sleep(seconds * 1_000)
    proxy.restore()
  }
  return {
    [`SIGKILL of a ${kind}`]: () => process.restart('SIGKILL'),
    [`SIGTERM of a ${kind}`]: () => process.restart('SIGTERM'),
    [`SIGSTOP of a ${kind}`]: (seconds) => process.pause(seconds),
    [`the database is silent to a ${kind}`]: disturbConnections(() => proxy.hang()),
    [`the database resets a ${kind}`]: disturbConnections(() => proxy.reset()),
    [`the database is slow to a ${kind}`]: disturbConnections(() => proxy.delay(100)),
  }
}

/** The faults of the database. */
export function faultsOfDatabase(cluster: Cluster): Record<string, Happening> {
  const restart = (mode: 'fast' | 'immediate') => async (seconds: number) => {
    await cluster.stop(mode)
    await sleep(seconds * 500)
    await cluster.start()
  }
  return {
    'PostgreSQL ends all connections': () => terminate(cluster.adminUrl, 'true'),
    'PostgreSQL ends some connections': () => terminate(cluster.adminUrl, 'random() < 0.3'),
    'PostgreSQL ends the LISTEN connections': () =>
      terminate(cluster.adminUrl, `query LIKE 'LISTEN%' OR query = 'SELECT 1'`),
    'PostgreSQL restarts (fast)': restart('fast'),
    'PostgreSQL restarts (immediate)': restart('immediate'),
    async 'PostgreSQL is frozen'(seconds) {
      cluster.freeze()
      await sleep(seconds * 1_000)
      cluster.thaw()
    },
  }
}

async function terminate(url: string, condition: string): Promise<void> {
  const session = new pg.Client({ connectionString: url })
  await session.connect()
  await session.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'fusion-gateway' AND (${condition})`,
  )
  await session.end()
}
