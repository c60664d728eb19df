import type { LoadLimits } from '../../src/config.ts'

/** The test, and often the database, are in the gateway's own thread: what they do makes it late, and is not to be refused. */
export const patientLoad: LoadLimits = { maxInFlight: 500, maxEventLoopDelayMilliseconds: 60_000 }
