import type { Database } from '@fusion-gateway/database'
import type { Random } from '../../../src/domain/resource.ts'

/** How many rows each tenant has. The ids of the rows are the same in each tenant, and the values are not. */
export const counts = { users: 24, accounts: 40, jobs: 20 }

/**
 * Ids that a row of each type has, because imports and clients choose ids. Some have the prefix of one of the types.
 * The rows with the first id belong to each other.
 */
export const sharedIds = ['imported-1', '77', 'usr_2', 'acc_3']

/** Texts that have the same first 200 characters, which is what an index has. */
const longNames = ['a', 'b'].map((end) => `${'𝒜x'.repeat(100)}${end}`)
const names = ['Ada', 'ada 50%', 'A_da', 'B\\ob', "O'Neil", 'Zoë "Z" Å', 'Émile', 'lin', ...longNames]
const platforms = ['X', 'YOUTUBE', 'TWITCH', 'TIKTOK']
const statuses = ['CONNECTED', 'EXPIRED', 'DISCONNECTED'] as const
const days = [1, 2, 3, 4, 5].map((day) => new Date(Date.UTC(2026, 0, day, 8, 30, 0, day)))
const followers = [0, 1, 5, 1_000, 3_000_000_000, 2 ** 53 - 1]
const objects = [
  { city: 'Lyon', at: [1, { b: null, a: true }] },
  { zip: '1', street: 'Å "1"', deep: { deeper: { deepest: 1.5 } } },
  {},
]

/** Fills a tenant with random rows, of which many have the same times and names. */
export async function createRows({ prisma }: Pick<Database, 'prisma'>, tenantAppId: string, random: Random) {
  const { below, pick } = random
  const maybe = <Value>(value: Value): Value | null => (below(3) === 0 ? null : value)
  const times = () => ({ createdAt: pick(days), updatedAt: pick(days) })
  const numbers = (length: number) => Array.from({ length }, (_, index) => index + 1)
  const [first = '', ...others] = sharedIds
  const idsOf = (prefix: string, count: number) => [
    ...new Set([...numbers(count - 1).map((number) => `${prefix}_${number}`), ...sharedIds]),
  ]
  /** The last rows are below those with shared ids: the first id below the first, and others below the others. */
  const idsBelow = (prefix: string, count: number) => [
    ...numbers(count - sharedIds.length).map((number) => `${prefix}_${number}`),
    first,
    ...others.slice(1),
    ...others.slice(0, 1),
  ]

  const userIds = idsOf('usr', counts.users)
  await prisma.user.createMany({
    data: userIds.map((id) => ({
      tenantAppId,
      id,
      name: pick(names),
      email: `${id}.${below(9)}@Example.com`,
      phone: maybe(`+1 ${id}`),
      ...times(),
    })),
  })
  const accountIds = idsOf('acc', counts.accounts).sort(
    (one, other) => sharedIds.indexOf(one) - sharedIds.indexOf(other),
  )
  const accounts = accountIds.map((id) => ({
    // The first users have most of the accounts, and some users have none.
    tenantAppId,
    id,
    userId: id === first ? first : pick(userIds.slice(0, 1 + below(userIds.length))),
    platform: pick(platforms),
    platformAccountId: `channel_${id}`,
    displayName: `@${pick(names)}`,
    status: pick(statuses),
    ...times(),
  }))
  await prisma.account.createMany({ data: accounts })
  const withProfile = accounts.filter(({ id }) => sharedIds.includes(id) || below(4) > 0)
  const profileIds = idsBelow('prf', withProfile.length)
  const profiles = withProfile.map(({ id: accountId, platform, platformAccountId }, index) => ({
    tenantAppId,
    id: profileIds[index] as string,
    accountId,
    platform,
    platformAccountId,
    username: maybe(pick(names)),
    url: maybe(`https://example.com/${index}`),
    gender: maybe('FEMALE'),
    fullName: maybe(pick(names)),
    firstName: maybe('Ada'),
    lastName: maybe('Lovelace'),
    nickName: maybe('a'),
    displayName: maybe(pick(names)),
    description: maybe(`About ${index}`),
    profilePictureUrl: maybe(`https://example.com/${index}.jpg`),
    websiteUrl: maybe('https://example.com'),
    dateOfBirth: maybe(new Date(Date.UTC(1950 + below(50), below(12), 1 + below(28)))),
    category: maybe(pick(['Music', 'Travel', '', ...longNames])),
    country: maybe(pick(['DE', 'FR', 'IN'])),
    phoneNumbers: pick([[], [objects[0]], [objects[1], objects[2]]]) as never,
    addresses: pick([[], [objects[1]], [objects[2], objects[0]]]) as never,
    followersCount: maybe(pick(followers)),
    followingCount: maybe(pick(followers)),
    subscribersCount: maybe(pick(followers)),
    contentsCount: maybe(pick(followers)),
    watchTimeInHours: maybe(below(1_000_000) / 128),
    joinedAt: maybe(pick(days)),
    verified: pick([true, false, null]),
    syncedAt: maybe(pick(days)),
    unsupportedFields: pick([[], ['url'], ['gender', 'watchTimeInHours']]),
    ...times(),
  }))
  await prisma.profile.createMany({ data: profiles })
  const emails = profiles.flatMap(({ id: profileId }) =>
    numbers(sharedIds.includes(profileId) ? 1 : below(4)).map(() => ({
      profileId,
      value: `${profileId}.${below(1_000)}@example.com`,
    })),
  )
  const emailIds = idsBelow('eml', emails.length)
  await prisma.emailRecord.createMany({
    data: emails.map((email, index) => ({
      tenantAppId,
      id: emailIds[index] as string,
      ...email,
      type: maybe(pick(['work', 'personal'])),
      isVerified: below(2) === 0,
      isPrimary: below(2) === 0,
      ...times(),
    })),
  })
  await prisma.job.createMany({
    data: idsOf('job', counts.jobs).map((id, number) => ({
      tenantAppId,
      id,
      jobType: pick(['fetch_content', 'render', null]),
      status: pick(['SUCCEEDED', 'FAILED', 'CANCELLED', 'PENDING'] as const),
      attempts: below(4),
      ...(below(3) > 0 && { payload: pick(objects) as never }),
      ...(below(3) > 0 && { result: pick(objects) as never }),
      ...(below(3) === 0 && { error: { at: '2026-01-01T00:00:00.000Z', code: 'TIMEOUT', message: 'm', attempt: 1 } }),
      maxAttempts: maybe(3),
      progress: maybe(below(100) / 128),
      progressMessage: maybe(`step ${number}`),
      startedAt: maybe(pick(days)),
      finishedAt: maybe(pick(days)),
      ...times(),
    })),
  })
}
