import type { LoadLimits } from '../../src/engine/limits/concurrency.ts'

/**
 * Limits for a gateway that shares its thread with the test, and often with the database, which delay its event loop.
 */
export const patientLoad: LoadLimits = {
  maxInFlight: 500,
  maxInFlightPerKey: 500,
  maxEventLoopDelayMilliseconds: 60_000,
}
