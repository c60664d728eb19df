import { Gauge } from '@prometheus-io/client'
import type { Driver } from '../db/driver.ts'
import type { Sql } from '../db/sql.ts'
import { statement } from '../db/statement.ts'
import type { Metrics } from './metrics.ts'

/** How long numbers are shown again: less than Prometheus usually waits between two scrapes. */
const maxAgeMilliseconds = 10_000

/**
 * Returns the function that collects numbers which the database has. A scrape gets the numbers of the scrape before,
 * and starts to read new ones, so that it does not wait for a database that hangs.
 *
 * @param read reads the numbers
 * @param show gives them to the gauges
 * @param clear removes them from the gauges; called while reading fails
 */
export function readBehind<Numbers>(
  read: () => Promise<Numbers>,
  show: (numbers: Numbers) => void,
  clear: () => void,
): () => void {
  let readAt = Number.NEGATIVE_INFINITY
  return () => {
    if (performance.now() - readAt < maxAgeMilliseconds) return
    readAt = performance.now()
    read().then(show, clear)
  }
}

const listNodes = statement(`
  SELECT nodename, nodeport::text FROM pg_dist_node
  WHERE shouldhaveshards AND isactive AND noderole = 'primary' ORDER BY nodename, nodeport`)

const checkNode = statement('SELECT citus_check_connection_to_node($1, $2::integer)')

/**
 * Adds the nodes of a distributed database to the metrics of a process: whether the server that it is connected to
 * reaches each. While that server fails, and for a database that is not distributed, the metrics name no node.
 */
export function measureNodes(
  { registry }: Metrics,
  { sql, driver }: { readonly sql: Sql; readonly driver: Pick<Driver, 'isDistributed'> },
): void {
  const isUsable = new Gauge({
    name: 'fusion_node_usable',
    help: '1 while the node of a distributed database can be reached, 0 while it is down',
    labelNames: ['node'] as const,
    aggregator: 'min',
    registers: [registry],
    collect: readBehind(checkNodes, show, () => isUsable.reset()),
  })

  /** One after the other: the connections of the pool are for requests. A node that hangs ends its own statement. */
  async function checkNodes(): Promise<Map<string, boolean>> {
    const checked = new Map<string, boolean>()
    if (!driver.isDistributed?.()) return checked
    for (const [host, port] of await sql.query(listNodes)) {
      const [[reached] = []] = await sql.query(checkNode, [String(host), String(port)]).catch(() => [])
      checked.set(`${host}:${port}`, reached === true)
    }
    return checked
  }

  function show(nodes: ReadonlyMap<string, boolean>): void {
    isUsable.reset()
    for (const [node, reached] of nodes) isUsable.set({ node }, Number(reached))
  }
}
