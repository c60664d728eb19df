import { tables } from './generated/tables.ts'

// What the migrations create in the schema `public`. Other programs and extensions can have objects there too: whatever
// lists the catalog compares names with these lists. test/db/drift.slow.test.ts holds them to a migrated database.

const rows = ['SELECT', 'INSERT', 'UPDATE', 'DELETE']

/** The privileges that gateways and workers use, where they do not use all four. Foreign keys delete as the owner. */
const usedPrivileges: Readonly<Record<string, readonly string[]>> = {
  _prisma_migrations: ['SELECT'],
  event: ['SELECT', 'INSERT', 'DELETE'],
  // Only databases that `migrate distribute` has distributed have it.
  event_raise: ['SELECT'],
  event_state: ['SELECT', 'UPDATE'],
  profile: ['SELECT', 'INSERT', 'UPDATE'],
  tenant_app: ['SELECT', 'UPDATE'],
}

export const modelTables: readonly string[] = Object.values(tables).map(({ name }) => name)

/** The tables with the privileges that gateways and workers use. */
export const ownTables: ReadonlyMap<string, readonly string[]> = new Map(
  [...modelTables, '_prisma_migrations', 'event_raise'].map((name) => [name, usedPrivileges[name] ?? rows]),
)

/** The sequences with the privileges that gateways and workers use. */
export const ownSequences: ReadonlyMap<string, readonly string[]> = new Map([
  ['event_number', ['USAGE']],
  ['event_announced', ['USAGE', 'UPDATE']],
  ['event_truncations', ['USAGE']],
])

/** The functions that statements and defaults of columns call: the role of a gateway needs EXECUTE. */
export const calledFunctions: readonly string[] = [
  'actor_key()',
  'actor_request()',
  'announce_events()',
  'event_horizon()',
  'event_offset()',
  'event_position()',
  'event_prefix(bigint)',
  'event_running()',
  'next_event_id()',
  'next_offset()',
  'node_complete(text)',
  'node_error(text, text, text, integer)',
  'node_later(text, double precision)',
  'node_now(text)',
  'node_prefix(text)',
  'node_random(text)',
  'node_uuid(text)',
  'note_other_transactions()',
  'search_fold(text)',
  'transaction_prefix()',
]

/** The functions of triggers, which need no privilege. Some are only in old, or only in distributed, databases. */
export const triggerFunctions: readonly string[] = [
  'announce_changed_rows()',
  'count_truncation()',
  'delete_events()',
  'notify_job_changed()',
  'request_erasure()',
  'stamp_on_node()',
  'write_email_events()',
  'write_events()',
  'write_job_events()',
  'write_profile_events()',
  'write_profile_metrics()',
  'write_webhook_disabled()',
]

export function literals(names: Iterable<string>): string {
  return [...names].map((name) => `'${name}'`).join(', ')
}

/** The condition that the oid of a function is that of one of ours. */
export function isOwnFunction(
  oid: string,
  signatures: readonly string[] = [...calledFunctions, ...triggerFunctions],
): string {
  return `${oid} IN (${signatures.map((signature) => `to_regprocedure('public.${signature}')`).join(', ')})`
}
