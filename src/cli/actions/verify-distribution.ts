import { verifyDistribution } from '../../engine/db/distribution/verify-distribution.ts'
import { OperatorError } from '../../engine/errors.ts'
import type { Io } from '../io.ts'
import { printTable } from './terminal.ts'
import { withMigratedDatabase } from './with-database.ts'

export interface DistributionOptions {
  readonly json?: boolean
}

export function verifyDistributed(io: Io, { json }: DistributionOptions): Promise<void> {
  return withMigratedDatabase(io, async ({ driver, sql }) => {
    if (!driver.isDistributed?.()) {
      throw new OperatorError('The database is not distributed. See docs/scaling.md#citus.')
    }
    const findings = (await verifyDistribution(sql)).map(({ part, isRight, text }) => {
      return { part, state: isRight === undefined ? 'unknown' : isRight ? 'right' : 'wrong', text }
    })
    if (json) for (const finding of findings) io.stdout.write(`${JSON.stringify(finding)}\n`)
    else printTable(io.stdout, ['PART', 'STATE', 'FOUND'], findings.map(Object.values))
    if (findings.some(({ state }) => state === 'wrong')) io.exitCode = 1
  })
}
