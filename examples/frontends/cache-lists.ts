/** What caches must know of the schema. Keep it in step with schema.graphql: a cache that misses an argument mixes lists. */

/** Interfaces, and the types of their objects. Without them a cache drops the fields of `... on Node`. */
export const possibleTypes = {
  Node: ['Account', 'ApiKey', 'EmailRecord', 'Job', 'Profile', 'User', 'Webhook'],
  UsageCounts: ['OperationUsage', 'Usage'],
}

const selection = ['filter', 'orderBy', 'thenBy']

/** The lists with pages, and the arguments that make another list. */
export const pagedLists = {
  Query: {
    accounts: selection,
    apiKeys: [],
    events: ['filter'],
    jobs: ['filter', 'orderBy'],
    searchProfiles: selection,
    usage: ['from', 'to'],
    users: selection,
    webhooks: [],
  },
  User: { accountsConnection: selection },
  Webhook: { deliveries: [] },
}

/** There is one of each, so their key is their name. */
export const singletons = ['TenantStats', 'Viewer']

/** Parts of a page read different numbers of the same statistics, which belong together. */
export const statistics = ['NumberStats', 'ProfileStats', 'UserStats', 'VerifiedCounts']

/** Other objects without an id. They are parts of the object that has them. */
export const parts = [
  'AccountListChange',
  'AccountStatusCount',
  'FieldUsage',
  'GroupCount',
  'JobError',
  'JobLease',
  'JobStatusCount',
  'OperationUsage',
  'PlatformCount',
  'ProfileListChange',
  'UserError',
  'UserListChange',
]

/** The lists and numbers that a deletion changes. */
export const countedFields = [
  'accounts',
  'profileStats',
  'searchProfiles',
  'tenantStats',
  'userStats',
  'users',
  'webhooks',
]

/** The fields of mutations that name what was deleted, and the mutations. */
export const deletedIds = {
  deletedUserId: 'User',
  unlinkedAccountId: 'Account',
  unlinkedAccountIds: 'Account',
  deletedProfileId: 'Profile',
  deletedProfileIds: 'Profile',
  deletedWebhookId: 'Webhook',
}
export const deletingMutations = ['deleteUser', 'deleteUsers', 'deleteWebhook', 'unlinkAccount', 'unlinkAccounts']

const deletedByEvent: Readonly<Record<string, string>> = { ACCOUNT_UNLINKED: 'Account', USER_DELETED: 'User' }

/** The objects that were deleted, by the result of a mutation, or by an event with `type` and `resourceId`. */
export function deletedBy(data: unknown): { readonly __typename: string; readonly id: string }[] {
  const payloads = Object.values(data ?? {}).flatMap((payload) => payload?.results ?? [payload])
  return payloads.flatMap((payload) => {
    const ofEvent = [deletedByEvent[payload?.type], payload?.resourceId]
    const ofMutation = Object.entries(deletedIds).flatMap(([field, type]) =>
      [payload?.[field]].flat().map((id) => [type, id]),
    )
    return [ofEvent, ...ofMutation].flatMap(([__typename, id]) => (__typename && id ? [{ __typename, id }] : []))
  })
}
