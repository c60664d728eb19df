export { citusVersion } from './citus-version.ts'
export type {
  Connections,
  Connector,
  DatabaseNode,
  Driver,
  Listener,
  NodeObserver,
  OpenTransaction,
  Send,
  StatementResult,
} from './driver.ts'
export { sumOfBatches, sumOfTenants } from './each-tenant.ts'
export {
  ConnectError,
  causeOf,
  isDatabaseUnavailable,
  isDivisionByZero,
  isForeignKeyViolation,
  isLockDenied,
  isNotThereYet,
  isPermissionDenied,
  isServerBusy,
  isServerLost,
  isStatementTimeout,
  isUniqueViolation,
  isUnknownObject,
  refusalOf,
  temporaryStates,
} from './errors.ts'
export { gatherStatistics } from './gather-statistics.ts'
export { formatUuid, type Ids, idsWithPrefix } from './ids.ts'
export type { DatabaseLocation, PoolSettings, ReplicaSettings } from './location.ts'
export { Client } from './postgres/client.ts'
export type { FollowedNodes, NodeAddress, OpenPool } from './postgres/followed-nodes.ts'
export { listenOnPostgres } from './postgres/listener.ts'
export { parseUrl, problemsOfUrl, unusedParametersOf } from './postgres/parse-url.ts'
export { createConnectionClass, PipeliningPool } from './postgres/pipelining-pool.ts'
export { serverOf, valueTypes } from './postgres/pool.ts'
export { openPostgres, type PostgresObservers } from './postgres/postgres.ts'
export { createReplica, type ReplicaObserver } from './replicas/replica.ts'
export { removeOlder } from './retention.ts'
export { splitScript } from './split-script.ts'
export {
  type RequestDatabase,
  type RunWrite,
  Sql,
  type SqlOptions,
  type StatementEnd,
  type StatementObserver,
  waitFor,
} from './sql.ts'
export { type Parameter, type Statement, statement, write } from './statement.ts'
export { isPossibleId, isStorableText, isStorableTime, lastTime, toStorableText } from './storable.ts'
export { formatTime, requireShownYear } from './times.ts'
