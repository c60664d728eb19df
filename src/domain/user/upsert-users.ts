import { type GatewayError, invalidInput } from '@fusion-gateway/base'
import { dataModel, type User } from '@fusion-gateway/database'
import type { Context } from '@fusion-gateway/gateway-kit'
import { type Outcome, parseInput, writeEach, writeOne } from '@fusion-gateway/input'
import {
  type Arity,
  arityOf,
  changeColumns,
  changedValue,
  changeValues,
  type GivenValue,
  givenParameters,
  isChangedBy,
  selectColumns,
  timeOfChange,
  unnestRows,
} from '@fusion-gateway/prisma-trees'
import { write } from '@fusion-gateway/sql'
import type { z } from 'zod'
import { userUpsert } from './user.input.ts'
import { requireTenant } from './user.service.ts'
import { userIds } from './user.ts'

type UpsertInput = z.input<typeof userUpsert>

interface Upsert {
  /** The id of the user if it is created. */
  readonly id: string
  readonly externalId: string
  readonly change: Partial<Pick<User, (typeof changeable)[number]>>
}

export interface UpsertedUser {
  readonly user: User
  readonly created: boolean
}

const changeable = ['name', 'email', 'phone', 'metadata'] as const
/** What a new user must have. */
const required = ['name', 'email', 'phone'] as const

const table = dataModel('User')
const { list, toRow } = selectColumns(table)
const changed = changeable.map((field) => table.columnOf(field))
const upsert = { one: write(upsertText('one'), list), many: write(upsertText('many'), list) }

/**
 * The stored user is locked and read in the statement itself. A user that another transaction has created since its
 * snapshot is changed, and keeps the metadata that only the other one has given.
 */
function upsertText(arity: Arity): string {
  const names = changed.map(({ column }) => `"${column}"`)
  const values = changed.map((column) => changedValue(column, `stored."${column.column}"`))
  const isChange = changed.map((column) => isChangedBy(column, `stored."${column.column}"`))
  const given = unnestRows(['id', 'external_id', ...changeColumns(changed)], 3, arity)
  const isComplete = required.map((field) => `"given_${field}" IS NOT NULL`).join(' AND ')
  return `
    INSERT INTO "user" (tenant_app_id, id, external_id, created_at, updated_at, ${names.join(', ')})
    SELECT $1, coalesce(stored.id, given_id), given_external_id, coalesce(stored.created_at, $2::timestamptz),
      CASE WHEN stored.id IS NULL OR ${isChange.join(' OR ')} THEN ${timeOfChange('$2', 'stored.updated_at')} ELSE stored.updated_at END,
      ${values.join(', ')}
    FROM ${given} LEFT JOIN LATERAL (
      SELECT * FROM "user" WHERE tenant_app_id = $1 AND external_id = given_external_id FOR UPDATE) AS stored ON true
    WHERE stored.id IS NOT NULL OR (${isComplete})
    ON CONFLICT (tenant_app_id, external_id) DO UPDATE SET
      updated_at = excluded.updated_at, name = excluded.name, email = excluded.email, phone = excluded.phone, metadata =
        CASE WHEN "user".id = excluded.id THEN excluded.metadata ELSE coalesce(excluded.metadata, "user".metadata) END`
}

const values: readonly ((of: Upsert) => GivenValue | undefined)[] = [
  ({ id }) => id,
  ({ externalId }) => externalId,
  ...changeValues(changed).map((read) => (of: Upsert) => read(of.change)),
]

/**
 * Creates or changes the users that have external ids, with one statement. Absent fields keep their value. An input is
 * rejected with REQUIRED for each field that a new user must have.
 *
 * @throws GatewayError FORBIDDEN for a token that is bound to a user
 */
export function upsertUsers(context: Context, inputs: readonly UpsertInput[]): Promise<Outcome<UpsertedUser>[]> {
  return writeEach(inputs, {
    parse(input): Upsert {
      requireTenant(context.viewer, 'create users')
      const { externalId, ...change } = parseInput(userUpsert, input)
      return { id: userIds.create(), externalId, change: change as Upsert['change'] }
    },
    unique: { externalId: ({ externalId }) => externalId },
    write: (upserts) => writeUpserts(context, upserts),
  })
}

export const upsertUser = writeOne(upsertUsers)

async function writeUpserts(
  { viewer: { tenantAppId }, sql }: Context,
  upserts: readonly Upsert[],
): Promise<Outcome<UpsertedUser>[]> {
  const arity = arityOf(upserts)
  // In one order, in which other calls lock the same users too.
  const inOrder = upserts.toSorted((one, other) => (one.externalId < other.externalId ? -1 : 1))
  const given = givenParameters(inOrder, values, arity)
  const rows = await sql.query(upsert[arity], [tenantAppId, new Date().toISOString(), ...given])
  const users = new Map((rows.map(toRow) as User[]).map((user) => [user.externalId, user]))
  return upserts.map(({ id, externalId, change }) => {
    const user = users.get(externalId)
    return user ? { user, created: user.id === id } : missing(change)
  })
}

function missing(change: Upsert['change']): GatewayError {
  return invalidInput(
    required
      .filter((field) => change[field] == null)
      .map((field) => ({ field, code: 'REQUIRED', message: 'is required, because no user has this externalId yet' })),
  )
}
