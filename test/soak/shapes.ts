import type { Random } from '../../src/domain/resource.ts'
import { createRandom } from '../../src/domain/seed/seed.ts'

/** Optional fields of a selection. Each selection also has a field with the tenant's mark. */
const fields = {
  user: ['id', 'email', 'phone', 'createdAt', 'updatedAt', 'tenantAppId'],
  account: ['id', 'platform', 'platformAccountId'],
  profile: ['id', 'url', 'gender', 'fullName', 'country', 'category', 'verified', 'followersCount', 'joinedAt'],
}

/**
 * Creates documents that differ in fields, aliases and arguments. All of them have the variables `$user: ID!` and
 * `$account: ID!`.
 */
export function createShapes(count: number, seed = 1): string[] {
  const random = createRandom(seed)
  const shapes = new Set<string>()
  while (shapes.size < count) shapes.add(createShape(random))
  return [...shapes]
}

function createShape(random: Random): string {
  const profile = () => `{ username ${pickFields(random, fields.profile)} }`
  const account = () => `{ displayName ${pickFields(random, fields.account)} ${alias(random)}profile ${profile()} }`
  const user = () => `{ name ${pickFields(random, fields.user)} ${alias(random)}accounts ${account()} }`
  const roots = [
    () => `user(id: $user) ${user()} other: account(id: $account) ${account()}`,
    () => `account(id: $account) ${account()} other: user(id: $user) ${user()}`,
    () =>
      `profiles(accountIds: [$account, "acc_shared"]) ${profile()} other: node(id: $user) { id ... on User ${user()} }`,
    () =>
      `users(${range(random)}) { totalCount nodes ${user()} } other: nodes(ids: [$user, $account, "prf_shared"]) { id ... on Profile ${profile()} }`,
  ]
  // One in ten operations writes, in a transaction.
  if (random.below(10) === 0) {
    const written = `syncProfile(input: { accountId: $account, country: "DE" }) { profile ${profile()} userErrors { code } }`
    const renamed = `updateUser(input: { id: $user, phone: "${random.below(1_000)}" }) { user ${user()} userErrors { code } }`
    return `mutation ($user: ID!, $account: ID!) { ${alias(random)}${written} ${alias(random)}${renamed} }`
  }
  return `query ($user: ID!, $account: ID!) { ${alias(random)}${random.pick(roots)()} }`
}

/** A random selection of the fields, some with an alias. */
function pickFields(random: Random, names: readonly string[]): string {
  const picked = names.filter(() => random.below(2) === 0)
  return picked.map((name) => `${alias(random)}${name}`).join(' ')
}

let aliases = 0

function alias(random: Random): string {
  if (random.below(4) > 0) return ''
  aliases += 1
  return `a${aliases}: `
}

function range(random: Random): string {
  const count = 1 + random.below(20)
  const filter = random.below(2) === 0 ? ', filter: { nameContains: "ada" }' : ''
  return `${random.pick(['first', 'last'])}: ${count}, orderBy: { field: CREATED_AT, direction: ${random.pick(['ASC', 'DESC'])} }${filter}`
}
