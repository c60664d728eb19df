import { existsSync, readFileSync } from 'node:fs'
import type { Config } from '../../config.ts'
import { maxMetricsConnections } from '../../engine/http/plugins/metrics.ts'

/**
 * Descriptors of the process itself: standard streams, the event loop, Redis, traces, and files that it opens for a
 * moment.
 */
const ownDescriptors = 64

/** PGlite keeps up to 100 files open (`max_files_per_process`). */
const embeddedDescriptors = 128

/** The share of the descriptors that clients always get. */
const minShare = 1 / 4

/** The descriptors that the connections of clients must leave for a process that serves. */
function reservedDescriptors(
  { database, metricsPort }: Pick<Config, 'database' | 'metricsPort'>,
  servers: number,
): number {
  const metrics = metricsPort === undefined ? 0 : maxMetricsConnections
  if (database.kind === 'embedded') return ownDescriptors + embeddedDescriptors + metrics
  const { pool, replicas } = database
  const size = pool?.size ?? 0
  // Two more connections to the primary listen and probe, and one more to each server watches the lag of the replicas.
  const connections = servers * size + 3 + (replicas?.urls.length ?? 0) * (size + 1)
  return ownDescriptors + connections + metrics
}

/**
 * The number of client connections that leaves enough descriptors for the database and everything else. A process
 * without a free descriptor can neither connect to the database again nor open a file.
 *
 * @param config of the process
 * @param servers how many nodes of a distributed database it follows
 * @param limit how many descriptors the process may have
 * @returns undefined if there is no limit, or it is unknown
 */
export function maxConnectionsOf(
  config: Pick<Config, 'database' | 'metricsPort'>,
  servers = 1,
  limit = readDescriptorLimit(),
): number | undefined {
  if (limit === undefined) return undefined
  return Math.max(Math.floor(limit * minShare), limit - reservedDescriptors(config, servers))
}

/**
 * Reads how many descriptors this process may have; undefined where the system does not say. Node raises the soft limit
 * to the hard one when it starts.
 */
function readDescriptorLimit(): number | undefined {
  const limits = '/proc/self/limits'
  const soft = existsSync(limits) && /^Max open files +(\d+)/m.exec(readFileSync(limits, 'utf8'))?.[1]
  return soft ? Number(soft) : undefined
}
