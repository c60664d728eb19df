import type { Config } from '../config.ts'
import type { Logger } from '../engine/telemetry/logger.ts'

/** Connects to Redis, if it is configured. Its client is loaded only then. */
export async function openRedis({ redisUrl }: Config, log: Logger) {
  if (redisUrl === undefined) return undefined
  const { connectToRedis } = await import('../engine/limits/redis.ts')
  return connectToRedis(redisUrl, log)
}
