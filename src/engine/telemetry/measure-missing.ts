import { Gauge } from '@prometheus-io/client'
import type { Metrics } from './metrics.ts'
import { readBehind } from './read-behind.ts'

/**
 * Adds to the metrics of a process how much the database lacks of what its migrations have created.
 *
 * @param readMissing lists it
 */
export function measureMissing(metrics: Metrics, readMissing: () => Promise<readonly unknown[]>): void {
  const gauge = new Gauge({
    name: 'fusion_schema_missing',
    help: 'Indexes and triggers of the migrations that the database lacks: migrate status names them',
    aggregator: 'max',
    registers: [metrics.registry],
    collect: readBehind(metrics, 'schema', readMissing, (missing) => gauge.set(missing.length)),
  })
  // Not 0 before the first reading.
  gauge.remove()
}
