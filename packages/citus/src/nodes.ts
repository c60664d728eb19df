import { OperatorError } from '@fusion-gateway/base'
import { citusVersion, type Sql, statement } from '@fusion-gateway/sql'

/** The first version of Citus with which the gateway was tested. */
const minVersion = 13

const listNodes = statement(`SELECT nodename || ':' || nodeport, groupid::text FROM pg_dist_node ORDER BY groupid`)
const addNode = statement('SELECT citus_add_node($1, $2::integer)')
const countHolders = statement(`
  SELECT count(*)::integer FROM pg_dist_node WHERE shouldhaveshards AND isactive AND noderole = 'primary'`)

// A node is named as Citus knows it.
const runOnAll = statement(`
  SELECT nodename || ':' || nodeport, success, result FROM run_command_on_all_nodes($1) JOIN pg_dist_node USING (nodeid)`)

/** Runs one statement on each node and on the server that receives statements. Returns the first value of each. */
export async function runOnNodes(sql: Sql, command: string) {
  const rows = await sql.query(runOnAll, [command])
  return rows.map(([node, success, result]) => {
    if (success !== true) throw new OperatorError(`The node ${node} fails: ${result}`)
    return { node: String(node), value: String(result) }
  })
}

/**
 * Adds nodes, unless they are there, and requires that the tables can be distributed over all of them.
 *
 * @param wanted `host:port` of each
 * @throws OperatorError naming what is missing
 */
export async function prepareNodes(sql: Sql, wanted: readonly string[]): Promise<void> {
  const version = await citusVersion(sql)
  if (version === undefined) {
    throw new OperatorError(
      'The database has no Citus. On each server, add citus to shared_preload_libraries and, in a database of the same name, run as a superuser: CREATE EXTENSION citus',
    )
  }
  if (Number.parseInt(version, 10) < minVersion) {
    throw new OperatorError(`The database has Citus ${version}. The gateway needs ${minVersion} or later.`)
  }
  await addMissing(sql, wanted)
  const [[holders] = []] = await sql.query(countHolders)
  if (Number(holders) === 0) throw new OperatorError('There is no node. Name at least one: --node host:port')
  const versions = await runOnNodes(sql, `SELECT extversion FROM pg_extension WHERE extname = 'citus'`)
  const others = versions.filter(({ value }) => value !== version)
  if (others.length > 0) {
    const found = others.map(({ node, value }) => `${node} has ${value}`).join(', ')
    throw new OperatorError(`This server has Citus ${version}, but ${found}. All must have the same version.`)
  }
  const settings = await runOnNodes(sql, `SELECT current_setting('citus.enable_unsafe_triggers')`)
  const without = settings.filter(({ value }) => value !== 'on').map(({ node }) => node)
  if (without.length > 0) {
    throw new OperatorError(
      `Triggers write the event log. Set citus.enable_unsafe_triggers = on in postgresql.conf of ${without.join(', ')}, and reload it.`,
    )
  }
}

async function addMissing(sql: Sql, wanted: readonly string[]): Promise<void> {
  const known = await sql.query(listNodes)
  if (!known.some(([, group]) => group === '0')) {
    throw new OperatorError(
      "The nodes do not know the address of this server. Run as a superuser: SELECT citus_set_coordinator_host('host', port)",
    )
  }
  for (const node of wanted) {
    if (known.some(([name]) => name === node)) continue
    const [, host = '', port = ''] = /^(.+):(\d+)$/.exec(node) ?? []
    await sql.query(addNode, [host, port]).catch((cause: unknown) => {
      const reason = cause instanceof Error ? cause.message : String(cause)
      throw new OperatorError(`The node ${node} cannot be added: ${reason}`, { cause })
    })
  }
}
