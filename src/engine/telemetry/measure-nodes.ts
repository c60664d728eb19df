import { Gauge } from '@prometheus-io/client'
import type { Driver } from '../db/driver.ts'
import type { Metrics } from './metrics.ts'

/**
 * Adds the nodes of a distributed database to the metrics of a process: whether they answer it. For another
 * database, the metrics name no node.
 */
export function measureNodes({ registry }: Metrics, { driver }: { readonly driver: Pick<Driver, 'nodes'> }): void {
  const isUsable = new Gauge({
    name: 'fusion_node_usable',
    help: '1 while the node of a distributed database answers the process, 0 while it is down or hangs',
    labelNames: ['node'] as const,
    aggregator: 'min',
    registers: [registry],
    collect() {
      isUsable.reset()
      for (const node of driver.nodes?.() ?? []) {
        isUsable.set({ node: node.name }, Number(node.problem() === undefined))
      }
    },
  })
}
