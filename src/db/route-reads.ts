import type {
  SqlDriverAdapter,
  SqlMigrationAwareDriverAdapterFactory,
  SqlQuery,
  SqlResultSet,
} from '@prisma/driver-adapter-utils'
import { isServerLost, isStatementTimeout } from './availability.ts'
import { DelegatingAdapter } from './delegating-adapter.ts'
import type { Replica } from './replica.ts'

/**
 * What the statements belong to that are sent now, if they only read and may see rows as they were a moment ago: they are
 * all sent to one server, so that they fit each other.
 */
export type MayLag = () => object | undefined

/**
 * Sends reads that may lag to the replicas, one request after the other, and everything else to the primary: Prisma
 * Client's and the batched ones alike, since both come this way. A read that fails on a replica is made again on the
 * primary: whatever was wrong, it has done nothing. Only a server that is lost is left out for everybody.
 */
export function routeReads(
  primary: SqlMigrationAwareDriverAdapterFactory,
  replicas: readonly Replica[],
  mayLag: MayLag,
): SqlMigrationAwareDriverAdapterFactory {
  if (replicas.length === 0) return primary
  const chosen = new WeakMap<object, Replica>()
  let turn = 0

  function choose(): Replica | undefined {
    const reader = mayLag()
    if (!reader) return undefined
    const before = chosen.get(reader)
    if (before) return before.isUsable() ? before : undefined
    const usable = replicas.filter((replica) => replica.isUsable())
    turn += 1
    const replica = usable[turn % usable.length]
    if (replica) chosen.set(reader, replica)
    return replica
  }

  return {
    provider: primary.provider,
    adapterName: primary.adapterName,
    connect: async () => new RoutedAdapter(await primary.connect(), choose),
    connectToShadowDb: () => primary.connectToShadowDb(),
  }
}

class RoutedAdapter extends DelegatingAdapter {
  private readonly replica: () => Replica | undefined

  constructor(primary: SqlDriverAdapter, replica: () => Replica | undefined) {
    super(primary)
    this.replica = replica
  }

  override queryRaw(query: SqlQuery): Promise<SqlResultSet> {
    const replica = this.replica()
    if (!replica) return super.queryRaw(query)
    return replica.read(query).catch((error: unknown) => {
      // It would take as long there.
      if (isStatementTimeout(error)) throw error
      if (isServerLost(error)) replica.leaveOut(error)
      return super.queryRaw(query)
    })
  }
}
