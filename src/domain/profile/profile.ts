import { one } from '@fusion-gateway/prisma-trees'
import { idsWithPrefix } from '@fusion-gateway/sql'
import { accountIds } from '../account/account.ts'
import type { Seed } from '../resource.ts'

export const profileIds = idsWithPrefix('prf')

export const profileById = one('Profile', 'id')
export const profileOfAccount = one('Profile', 'accountId')

const dayMilliseconds = 86_400_000

export const profileSeed: Seed = {
  model: 'Profile',
  rowsOf({ tenantAppId, idOf, accounts, handle, gender, fullName, firstName, lastName, phone, createdAt, randomOf }) {
    const random = randomOf('profile')
    const dateOfBirth = new Date(Date.UTC(1960 + random.below(45), random.below(12), 1 + random.below(28)))
    return accounts.map(({ number, platform, platformAccountId, displayName, syncedAt }) => {
      const url = `https://${platform.toLowerCase()}.example/${handle}`
      const category = random.pick(categories)
      const country = random.pick(countries)
      return {
        tenantAppId,
        id: idOf(profileIds, number),
        accountId: idOf(accountIds, number),
        platform,
        platformAccountId,
        username: handle,
        url,
        gender,
        fullName,
        firstName,
        lastName,
        displayName,
        description: `${category} by ${firstName}.`,
        profilePictureUrl: `${url}/picture.jpg`,
        dateOfBirth,
        category,
        country,
        phoneNumbers: JSON.stringify([{ type: 'mobile', value: phone }]),
        addresses: JSON.stringify([{ city: random.pick(cities), country }]),
        followersCount: random.below(5_000_000),
        followingCount: random.below(2_000),
        contentsCount: random.below(3_000),
        watchTimeInHours: random.below(1_000_000) / 100,
        joinedAt: new Date(createdAt.getTime() - random.below(4_000) * dayMilliseconds),
        verified: random.next() < 0.2,
        syncedAt,
        createdAt: syncedAt,
        updatedAt: syncedAt,
      }
    })
  },
}

const categories = ['Music', 'Travel', 'Science', 'Cooking', 'Sports', 'Games', 'Fashion', 'Education']
const countries = ['DE', 'FR', 'GB', 'IN', 'JP', 'BR', 'US', 'NG', 'SE', 'MX']
const cities = ['Berlin', 'Lyon', 'Leeds', 'Pune', 'Osaka', 'Recife', 'Austin', 'Lagos', 'Malmö', 'Puebla']
