import type { z } from 'zod'
import type { Context } from '../../engine/context.ts'
import type { Account, Profile } from '../../engine/db/generated/prisma/client.ts'
import { isPossibleId } from '../../engine/db/ids.ts'
import type { Change } from '../../engine/db/write/given.ts'
import { parseInput } from '../../engine/input/parse-input.ts'
import { type Outcome, writeEach, writeOne } from '../../engine/input/write-each.ts'
import { accountNotFound } from '../account/account.service.ts'
import { type Email, profileChange } from './profile.input.ts'

type SyncInput = z.input<typeof profileChange> & { readonly accountId: string }

/**
 * Creates or changes the profiles of accounts. An email that stays (same value and type) keeps its id and creation
 * time. Runs in a transaction. An input is rejected with NOT_FOUND for `accountId`.
 */
export function syncProfiles(context: Context, inputs: readonly SyncInput[]): Promise<Outcome<Profile>[]> {
  return writeEach(inputs, {
    parse: toSync,
    unique: { accountId: ({ accountId }) => accountId },
    write: (syncs) => writeSyncs(context, syncs),
  })
}

export const syncProfile = writeOne(syncProfiles)

interface Sync {
  readonly accountId: string
  readonly change: Change
  /** Undefined: the profile keeps its emails. */
  readonly emails: readonly Email[] | undefined
}

function toSync({ accountId, ...input }: SyncInput): Sync {
  const { emails, phoneNumbers, addresses, unsupportedFields, ...scalars } = parseInput(profileChange, input)
  if (!isPossibleId(accountId)) throw accountNotFound('accountId')
  const change = {
    ...scalars,
    ...(phoneNumbers !== undefined && { phoneNumbers: JSON.stringify(phoneNumbers ?? []) }),
    ...(addresses !== undefined && { addresses: JSON.stringify(addresses ?? []) }),
    ...(unsupportedFields !== undefined && { unsupportedFields: unsupportedFields ?? [] }),
  }
  return { accountId, change, emails: emails === null ? [] : emails }
}

async function writeSyncs(
  { viewer: { tenantAppId }, rows, profiles }: Context,
  syncs: readonly Sync[],
): Promise<Outcome<Profile>[]> {
  const ids = syncs.map(({ accountId }) => accountId)
  // Locked until the end of the transaction, so that two calls for one account do not interleave.
  const accounts = await rows.lock('Account', ids, 'UPDATE')
  const possible = syncs.filter(({ accountId }) => accounts.has(accountId))
  if (possible.length === 0) return syncs.map(() => accountNotFound('accountId'))
  const written = await profiles.upsert(
    tenantAppId,
    possible.map(({ accountId, change }) => ({ account: accounts.get(accountId) as Account, change })),
  )
  const replaced = possible.flatMap(({ accountId, emails }) =>
    emails ? [{ profileId: (written.get(accountId) as Profile).id, emails }] : [],
  )
  if (replaced.length > 0) await profiles.replaceEmails(tenantAppId, replaced)
  return syncs.map(({ accountId }) => written.get(accountId) ?? accountNotFound('accountId'))
}
