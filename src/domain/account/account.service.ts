import { GatewayError, invalidField, invalidInput } from '@fusion-gateway/base'
import { type Account, dataModel } from '@fusion-gateway/database'
import type { Context } from '@fusion-gateway/gateway-kit'
import {
  deleteEach,
  type Outcome,
  outcomesOf,
  parseInput,
  type TargetInput,
  writeEach,
  writeOne,
} from '@fusion-gateway/input'
import { selectColumns } from '@fusion-gateway/prisma-trees'
import { isPossibleId, type Sql, statement } from '@fusion-gateway/sql'
import type { z } from 'zod'
import { holdersOf, userNotFound } from '../user/user.service.ts'
import { accountChange, accountLink } from './account.input.ts'
import { accountIds } from './account.ts'

/**
 * Links platform accounts to users. Linking an account to the same user again returns the first link unchanged. Runs in
 * a transaction.
 *
 * An input is rejected with REQUIRED or CONFLICT if it has not exactly one of `userId` and `userExternalId`, NOT_FOUND
 * for the user, CONFLICT if another user has the platform account or another account has the id, and TOO_LONG if the
 * token of a user would link more than 1,000 accounts.
 */
export function linkAccounts(context: Context, inputs: readonly z.input<typeof accountLink>[]) {
  return writeEach(inputs, {
    parse(input): Link {
      const { id, status, userId, userExternalId, ...fields } = parseInput(accountLink, input)
      if (userId == null && userExternalId == null) throw invalidField('userId', 'REQUIRED', oneUser)
      if (userId != null && userExternalId != null) throw invalidField('userExternalId', 'CONFLICT', oneUser)
      if (userId != null && !isPossibleId(userId)) throw userNotFound('userId')
      return { ...fields, userId, userExternalId, id: id ?? accountIds.create(), status: status ?? 'CONNECTED' }
    },
    unique: { platformAccountId: platformNameOf, id: ({ id }) => id },
    write: (links) => writeLinks(context, links),
  })
}

const oneUser = 'or userExternalId must be given, and not both'

export const linkAccount = writeOne(linkAccounts)

/** The most accounts that a token can link: lists of users return all accounts of each user. */
const maxAccountsOfToken = 1_000
const tooManyAccounts = `has ${maxAccountsOfToken} accounts, the most that a user can link with a token`

type NewAccount = Omit<Account, 'tenantAppId' | 'createdAt' | 'updatedAt'>

/** An account to link, with the user as the input names it. */
type Link = Omit<NewAccount, 'userId'> & {
  readonly userId: string | null | undefined
  readonly userExternalId: string | null | undefined
}

async function writeLinks(context: Context, links: readonly Link[]): Promise<Outcome<Account>[]> {
  const externalIds = links.flatMap(({ userExternalId }) => userExternalId ?? [])
  const holderOf = externalIds.length > 0 ? await holdersOf(context, externalIds) : new Map<string, string>()
  const accounts = links.map(({ userExternalId, userId, ...account }) => {
    // No user has an empty id.
    return { ...account, userId: userId ?? holderOf.get(userExternalId ?? '') ?? '' }
  })
  const outcomes = await writeAccounts(context, accounts)
  return outcomes.map((outcome, index) => {
    const isByExternalId = links[index]?.userExternalId != null
    return isByExternalId && outcome instanceof GatewayError ? byExternalId(outcome) : outcome
  })
}

/** The rejection of an input that names its user by `userExternalId`. */
function byExternalId(error: GatewayError): GatewayError {
  return invalidInput(
    error.fields.map((rejected) => {
      if (rejected.field !== 'userId') return rejected
      const message = rejected.code === 'NOT_FOUND' ? 'is not the external id of a user' : rejected.message
      return { ...rejected, field: 'userExternalId', message }
    }),
  )
}

async function writeAccounts({ viewer, sql, db }: Context, links: readonly NewAccount[]): Promise<Outcome<Account>[]> {
  // Locked, so that the foreign key of one account cannot reject the others.
  const locked = await db.user.lockMany({
    where: { id: { in: [...new Set(links.map(({ userId }) => userId))] } },
    strength: 'KEY SHARE',
  })
  const users = new Set(locked.map(({ id }) => id))
  const possible = links.filter(({ userId }) => users.has(userId))
  const { tenantAppId, userId } = viewer
  const knownOf = userId === undefined ? () => undefined : await findByPlatform(sql, tenantAppId, possible)
  const added = possible.filter((link) => !knownOf(link))
  const room = userId === undefined ? added.length : await roomOf(sql, tenantAppId, userId)
  const created = await db.account.createManyAndReturn({
    data: added.slice(0, Math.max(0, room)),
    skipDuplicates: true,
  })
  const linked = new Map(created.map((account) => [account.id, account]))
  const others = possible.filter(({ id }) => !linked.has(id))
  const existingOf = await findByPlatform(sql, tenantAppId, others)
  return links.map((link) => {
    if (!users.has(link.userId)) return userNotFound('userId')
    const existing = linked.get(link.id) ?? existingOf(link)
    if (existing?.userId === link.userId) return existing
    if (!existing && added.indexOf(link) >= room) return invalidField('userId', 'TOO_LONG', tooManyAccounts)
    return existing
      ? invalidField('platformAccountId', 'CONFLICT', 'is linked to another user')
      : invalidField('id', 'CONFLICT', 'is the id of another account')
  })
}

/** How many more accounts a user can link with a token. */
async function roomOf(sql: Sql, tenantAppId: string, userId: string): Promise<number> {
  const [[count] = []] = await sql.query(countOfUser, [tenantAppId, userId])
  return maxAccountsOfToken - Number(count)
}

type AccountChange = z.input<typeof accountChange> & { readonly id: string }

/** An input is rejected with NOT_FOUND for `id`, and with CONFLICT for `expectedUpdatedAt`. */
export const updateAccount = writeOne(({ db }: Context, inputs: readonly AccountChange[]) =>
  writeEach(inputs, {
    parse({ id, ...input }) {
      const { expectedUpdatedAt: updatedAt, displayName, status } = parseInput(accountChange, input)
      if (!isPossibleId(id)) throw accountNotFound('id')
      return { where: { id, updatedAt }, data: { displayName, status } }
    },
    async write(changes) {
      const targets = changes.map(({ where }) => where)
      return outcomesOf(targets, await db.account.updateEach(changes), db.account, accountNotFound)
    },
  }),
)

/** What was deleted with an account, and whose it was. */
export interface UnlinkedAccount {
  readonly id: string
  readonly userId: string
  readonly profileId: string | null
}

const withProfile = { id: true, userId: true, profile: { select: { id: true } } } as const

/**
 * Unlinks accounts. Foreign keys delete their profiles and emails in the same statement. An input is rejected with
 * NOT_FOUND for `id`, and with CONFLICT for `expectedUpdatedAt`.
 */
export function unlinkAccounts({ db }: Context, inputs: readonly TargetInput[]) {
  return deleteEach(inputs, {
    async remove(where) {
      const deleted = await db.account.deleteEach({ where, select: withProfile })
      return deleted.map(
        (account): UnlinkedAccount | null =>
          account && { id: account.id, userId: account.userId, profileId: account.profile?.id ?? null },
      )
    },
    rows: db.account,
    notFound: accountNotFound,
  })
}

export const unlinkAccount = writeOne(unlinkAccounts)

export function accountNotFound(field: string) {
  return invalidField(field, 'NOT_FOUND', 'is not the id of an account')
}

export type PlatformAccount = Pick<Account, 'platform' | 'platformAccountId'>

const { list, toRow } = selectColumns(dataModel('Account'))
const columns = list
  .split(', ')
  .map((column) => `account.${column}`)
  .join(', ')

// One look-up in the unique index per account. With a list of ids, PostgreSQL may compare the trigrams of each id
// instead.
const findLinked = statement(`
  SELECT ${columns} FROM unnest($2::text[], $3::text[]) AS wanted (platform, platform_account_id)
  JOIN account ON account.tenant_app_id = $1 AND account.platform = wanted.platform
    AND account.platform_account_id = wanted.platform_account_id`)

/** Finds accounts of a tenant. Returns a function that returns the account of a platform account. */
export async function findByPlatform(sql: Sql, tenantAppId: string, wanted: readonly PlatformAccount[]) {
  if (wanted.length === 0) return () => undefined
  const rows = await sql.query(findLinked, [
    tenantAppId,
    wanted.map(({ platform }) => platform),
    wanted.map(({ platformAccountId }) => platformAccountId),
  ])
  const accounts = rows.map(toRow) as Account[]
  // Not the name: routers of a supergraph send platforms with spaces too.
  const keyOf = ({ platform, platformAccountId }: PlatformAccount) => JSON.stringify([platform, platformAccountId])
  const byKey = new Map(accounts.map((account) => [keyOf(account), account]))
  return (account: PlatformAccount) => byKey.get(keyOf(account))
}

const countOfUser = statement('SELECT count(*) FROM account WHERE tenant_app_id = $1 AND user_id = $2')

/** `{ platform: 'YOUTUBE', platformAccountId: 'UC1' }` ⇒ `YOUTUBE UC1`. No platform has a space. */
export function platformNameOf({ platform, platformAccountId }: PlatformAccount): string {
  return `${platform} ${platformAccountId}`
}
