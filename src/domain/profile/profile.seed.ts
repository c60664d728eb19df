import type { InsertValue } from '../../engine/db/insert.ts'
import { accountIds } from '../account/account.ts'
import type { Seed } from '../resource.ts'
import type { Person } from '../seed/person.ts'
import { profileIds } from './profile.ts'

const fields = [
  ...['tenantAppId', 'id', 'accountId', 'platform', 'platformAccountId', 'username', 'url', 'gender'],
  ...['fullName', 'firstName', 'lastName', 'displayName', 'description', 'profilePictureUrl', 'dateOfBirth'],
  ...['category', 'country', 'phoneNumbers', 'addresses', 'followersCount', 'followingCount', 'contentsCount'],
  ...['watchTimeInHours', 'joinedAt', 'verified', 'createdAt', 'updatedAt'],
]

export const profileSeed: Seed = { model: 'Profile', fields, rowsOf }

const dayMilliseconds = 86_400_000

function rowsOf(person: Person): InsertValue[][] {
  const { tenantAppId, idOf, accounts, handle, gender, fullName, firstName, lastName, phone, createdAt } = person
  const random = person.randomOf('profile')
  const dateOfBirth = new Date(Date.UTC(1960 + random.below(45), random.below(12), 1 + random.below(28)))
  return accounts.map(({ number, platform, platformAccountId, displayName }) => {
    const url = `https://${platform.toLowerCase()}.example/${handle}`
    const category = random.pick(categories)
    const country = random.pick(countries)
    const addresses = [{ city: random.pick(cities), country }]
    return [
      ...[tenantAppId, idOf(profileIds, number), idOf(accountIds, number), platform, platformAccountId, handle, url],
      ...[gender, fullName, firstName, lastName, displayName, `${category} by ${firstName}.`, `${url}/picture.jpg`],
      ...[dateOfBirth, category, country],
      ...[JSON.stringify([{ type: 'mobile', value: phone }]), JSON.stringify(addresses)],
      ...[random.below(5_000_000), random.below(2_000), random.below(3_000), random.below(1_000_000) / 100],
      ...[new Date(createdAt.getTime() - random.below(4_000) * dayMilliseconds), random.next() < 0.2],
      ...[createdAt, createdAt],
    ]
  })
}

const categories = ['Music', 'Travel', 'Science', 'Cooking', 'Sports', 'Games', 'Fashion', 'Education']
const countries = ['DE', 'FR', 'GB', 'IN', 'JP', 'BR', 'US', 'NG', 'SE', 'MX']
const cities = ['Berlin', 'Lyon', 'Leeds', 'Pune', 'Osaka', 'Recife', 'Austin', 'Lagos', 'Malmö', 'Puebla']
