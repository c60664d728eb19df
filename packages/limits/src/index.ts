export {
  createConcurrencyLimit,
  delayRejection,
  Held,
  type LoadLimits,
  type Payer,
  type Places,
} from './concurrency.ts'
export { createFairQueues, createWriteQueue, type FairQueue, type FairQueues } from './fair-queue.ts'
export { createLimits, createOperationLimits, type Limits, type LimitsOptions, type OperationLimits } from './limits.ts'
export { createMemoryCounter, createRateLimit, type RateLimit, tooExpensive, unlimited } from './rate-limit.ts'
export { createRecentWrites, type RecentWrites } from './recent-writes.ts'
export type { RedisConnection } from './redis.ts'

/** The client of Redis is loaded only where there is one. */
export const loadRedis = () => import('./redis.ts')
export { type Budget, budgetHeaders, costHeaders, Reservation } from './reservation.ts'
