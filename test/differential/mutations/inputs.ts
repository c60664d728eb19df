import type { Random } from '../../../src/domain/resource.ts'
import type { Row, Tables, Typename } from '../reference/tables.ts'
import { sharedIds } from '../world/create-rows.ts'

export type Input = Readonly<Record<string, unknown>>

/** Creates a random input for the rows that exist. */
export type CreateInput = (tables: Tables, random: Random) => Input

const platforms = ['X', 'YOUTUBE', 'you tube']
const names = [' Ada ', 'Grace Hopper', 'Zoë', ' ']
const addresses = ['ada@example.com', 'grace@Example.com', 'nobody']

/** Fields with a value each, of which an input has some. */
function some({ below }: Random, fields: Input): Input {
  return Object.fromEntries(Object.entries(fields).filter(() => below(2) === 0))
}

/** The id of a row, and at times one that no row has. */
function idIn(typename: Typename, tables: Tables, { below, pick }: Random): string {
  const rows: readonly Row[] = tables[typename]
  return rows.length === 0 || below(10) === 0 ? pick(['nobody', '']) : pick(rows).id
}

/** At times the time of the last change of a row, and at times another one. */
function expectation(row: Row | undefined, { below, pick }: Random): Input {
  const other = '2020-01-01T00:00:00.000Z'
  return below(3) === 0 ? { expectedUpdatedAt: pick([row?.['updatedAt'] ?? other, other]) } : {}
}

/** The id of a row, and maybe the time of its last change. */
const target =
  (typename: Typename): CreateInput =>
  (tables, random) => {
    const id = idIn(typename, tables, random)
    const rows: readonly Row[] = tables[typename]
    const row = rows.find((one) => one.id === id)
    return { id, ...expectation(row, random) }
  }

/** The inputs of the mutations. Each is also the input of the mutation for many. */
export const inputs: Readonly<Record<string, CreateInput>> = {
  createUser: (_, { pick }) => ({ name: pick(names), email: pick(addresses), phone: pick(['1', '+1 2']) }),
  updateUser: (tables, random) => ({
    ...target('User')(tables, random),
    ...some(random, { name: random.pick([...names, null]), email: random.pick([...addresses, null]) }),
    ...some(random, { phone: random.pick(['3', null]) }),
  }),
  deleteUser: target('User'),
  linkAccount: (tables, random) => {
    const { below, pick } = random
    // Sometimes the platform account is linked already: to the same user, or to another.
    const linked = below(3) === 0 ? tables.Account[below(tables.Account.length)] : undefined
    return {
      userId: linked && below(2) === 0 ? linked['userId'] : idIn('User', tables, random),
      platform: linked?.['platform'] ?? pick(platforms),
      platformAccountId: linked?.['platformAccountId'] ?? `channel_${below(60)}`,
      displayName: pick(names),
      ...some(random, { status: pick(['EXPIRED', 'DISCONNECTED', null]) }),
      ...(below(3) === 0 && { id: pick([idIn('Account', tables, random), `acc_${below(90)}`, pick(sharedIds)]) }),
    }
  },
  updateAccount: (tables, random) => ({
    ...target('Account')(tables, random),
    ...some(random, {
      displayName: random.pick([...names, null]),
      status: random.pick(['EXPIRED', 'CONNECTED', null]),
    }),
  }),
  unlinkAccount: target('Account'),
  syncProfile: (tables, random) => {
    const accountId = idIn('Account', tables, random)
    const profile = tables.Profile.find((row) => row['accountId'] === accountId)
    return { accountId, ...expectation(profile, random), ...profileFields(random) }
  },
  createJob: (_, random) => ({
    jobType: random.pick(['render', 'fetch_content', '1']),
    ...some(random, { payload: random.pick([{ b: 1, a: [null] }, {}, null]), maxAttempts: random.pick([1, 100, 101]) }),
    ...some(random, { runAt: '2030-01-01T00:00:00.000Z', idempotencyKey: `key_${random.below(20)}` }),
  }),
}

/** Some of the fields of a profile. */
function profileFields(random: Random): Input {
  return {
    ...some(random, {
      username: random.pick(['ada', null]),
      country: random.pick(['DE', 'FR', null]),
      verified: true,
      followersCount: random.pick([0, 2 ** 53 - 1, null]),
      watchTimeInHours: random.below(1_000) / 8,
      dateOfBirth: random.pick(['1990-05-17', null]),
      joinedAt: random.pick(['2020-01-01T00:00:00.000Z', null]),
      addresses: random.pick([[{ z: 1, city: 'Lyon' }], [], null]),
      phoneNumbers: [{ value: '1' }, {}],
      unsupportedFields: random.pick([['url', 'gender', 'url'], [], null]),
    }),
    ...some(random, {
      emails: random.pick([
        null,
        [],
        [{ value: 'a@example.com', type: 'work', isPrimary: true }],
        [
          { value: 'b@example.com', isPrimary: true },
          { value: 'a@example.com', type: 'work', isVerified: true },
        ],
      ]),
    }),
  }
}

/** The mutation for many: `syncProfile` ⇒ `syncProfiles`. There is none for `updateAccount`. */
export function bulkOf(name: string): string | undefined {
  return name === 'updateAccount' ? undefined : `${name}s`
}
