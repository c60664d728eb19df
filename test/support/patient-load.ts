import type { HttpTimeouts } from '@fusion-gateway/http'
import type { LoadLimits } from '@fusion-gateway/limits'
import { settings } from './settings.ts'

/**
 * Limits for a gateway that shares its thread with the test, and often with the database, which delay its event loop.
 */
export const patientLoad: LoadLimits = {
  maxInFlight: 500,
  maxInFlightPerKey: 500,
  maxEventLoopDelayMilliseconds: 60_000,
}

/**
 * The embedded database answers in microtasks, so the statements of tests that run side by side can hold up the sockets
 * of this process for more than ten seconds on a busy machine. Node then takes a request for one that is not in time.
 */
export const patientTimeouts: HttpTimeouts = {
  ...settings.timeouts,
  headersMilliseconds: 120_000,
  requestMilliseconds: 120_000,
}
