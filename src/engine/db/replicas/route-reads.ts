import type { Connector } from '../adapter.ts'
import { isServerLost, isStatementTimeout } from '../errors.ts'
import type { Replica } from './replica.ts'

/**
 * Returns an object that identifies the request that reads now, if it only reads and may read rows that are slightly out
 * of date. All reads of one request go to one server, so that they are consistent with each other.
 */
export type LaggingReader = () => object | undefined

/**
 * Creates the routing of reads. Requests that may lag use the replicas in turn; everything else uses the primary. A read
 * that fails on a replica is sent to the primary. The replica is excluded only if the server is lost.
 */
export function createReadRouter(
  replicas: readonly Replica[],
  laggingReader: LaggingReader,
): NonNullable<Connector['routeRead']> {
  const chosen = new WeakMap<object, Replica>()
  let turn = 0

  function choose(): Replica | undefined {
    const reader = laggingReader()
    if (!reader) return undefined
    const before = chosen.get(reader)
    if (before) return before.isUsable() ? before : undefined
    const usable = replicas.filter((replica) => replica.isUsable())
    turn += 1
    const replica = usable[turn % usable.length]
    if (replica) chosen.set(reader, replica)
    return replica
  }

  return (query, sendToPrimary) => {
    const replica = choose()
    if (!replica) return sendToPrimary()
    return replica.read(query).catch((error: unknown) => {
      // The statement would take as long on the primary.
      if (isStatementTimeout(error)) throw error
      if (isServerLost(error)) replica.exclude(error)
      return sendToPrimary()
    })
  }
}
