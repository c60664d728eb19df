import type { InsertValue } from '../db/insert.ts'
import type { Random } from './random.ts'

/** How the ids of a made-up user are written. */
export interface IdScheme {
  user(user: number): string
  account(user: number, account: number): string
  profile(user: number, account: number): string
  email(user: number, account: number, email: number): string
}

/** Rows to insert, by model, with the fields that they give. */
export interface MadeUpRows {
  readonly User: InsertValue[][]
  readonly Account: InsertValue[][]
  readonly Profile: InsertValue[][]
  readonly EmailRecord: InsertValue[][]
}

/** The fields of each model's rows, in their order; parents before children. */
export const madeUpFields = {
  User: ['tenantAppId', 'id', 'name', 'email', 'phone', 'createdAt', 'updatedAt'],
  Account: ['tenantAppId', 'id', 'userId', 'platform', 'platformAccountId', 'displayName', 'createdAt', 'updatedAt'],
  Profile: [
    'tenantAppId',
    'id',
    'accountId',
    'platform',
    'platformAccountId',
    'username',
    'url',
    'gender',
    'fullName',
    'firstName',
    'lastName',
    'displayName',
    'description',
    'profilePictureUrl',
    'dateOfBirth',
    'category',
    'country',
    'phoneNumbers',
    'addresses',
    'followersCount',
    'followingCount',
    'contentsCount',
    'watchTimeInHours',
    'joinedAt',
    'verified',
    'createdAt',
    'updatedAt',
  ],
  EmailRecord: ['tenantAppId', 'id', 'profileId', 'value', 'type', 'isVerified', 'isPrimary', 'createdAt', 'updatedAt'],
} as const satisfies Record<keyof MadeUpRows, readonly string[]>

/** What is asked of the made-up users. */
export interface PeopleOptions {
  readonly tenantAppId: string
  readonly random: Random
  readonly ids: IdScheme
  readonly accountsPerUser: number
  readonly emailsPerProfile: number
}

/** When the first made-up user was made; each further one a second later. */
const firstCreatedAt = Date.parse('2026-01-01T00:00:00.000Z')
const day = 86_400_000

/** Makes up users with their accounts, profiles and emails. `from` is the number of the first of them. */
export function makeUpPeople(options: PeopleOptions, from: number, count: number): MadeUpRows {
  const rows: MadeUpRows = { User: [], Account: [], Profile: [], EmailRecord: [] }
  for (let user = from; user < from + count; user += 1) addPerson(rows, options, user)
  return rows
}

function addPerson(rows: MadeUpRows, options: PeopleOptions, user: number): void {
  const { tenantAppId, random, ids, accountsPerUser, emailsPerProfile } = options
  const firstName = random.pick(firstNames)
  const lastName = random.pick(lastNames)
  const fullName = `${firstName} ${lastName}`
  const handle = `${firstName}.${lastName}.${user}`.toLowerCase()
  const gender = random.pick(['FEMALE', 'MALE', 'OTHER'])
  const dateOfBirth = new Date(Date.UTC(1960 + random.below(45), random.below(12), 1 + random.below(28)))
  const createdAt = new Date(firstCreatedAt + user * 1_000)
  const phone = `+1555${String(random.below(10_000_000)).padStart(7, '0')}`
  const userId = ids.user(user)
  rows.User.push([tenantAppId, userId, fullName, `${handle}@example.com`, phone, createdAt, createdAt])

  for (let account = 1; account <= accountsPerUser; account += 1) {
    const platform = platforms[(user + account) % platforms.length] ?? 'YOUTUBE'
    const displayName = `${firstName} on ${platform.charAt(0)}${platform.slice(1).toLowerCase()}`
    const accountId = ids.account(user, account)
    const platformAccountId = `${platform.toLowerCase()}-${accountId}`
    const profileId = ids.profile(user, account)
    const url = `https://${platform.toLowerCase()}.example/${handle}`
    rows.Account.push([tenantAppId, accountId, userId, platform, platformAccountId, displayName, createdAt, createdAt])
    rows.Profile.push([
      tenantAppId,
      profileId,
      accountId,
      platform,
      platformAccountId,
      handle,
      url,
      gender,
      fullName,
      firstName,
      lastName,
      displayName,
      `${random.pick(categories)} by ${firstName}.`,
      `${url}/picture.jpg`,
      dateOfBirth,
      random.pick(categories),
      random.pick(countries),
      JSON.stringify([{ type: 'mobile', value: phone }]),
      JSON.stringify([{ city: random.pick(cities), country: random.pick(countries) }]),
      random.below(5_000_000),
      random.below(2_000),
      random.below(3_000),
      Math.round(random.next() * 1_000_000) / 100,
      new Date(firstCreatedAt - random.below(4_000) * day),
      random.next() < 0.2,
      createdAt,
      createdAt,
    ])
    for (let email = 1; email <= emailsPerProfile; email += 1) {
      const type = email === 1 ? 'personal' : 'work'
      const value = `${handle}@${type}.example.com`
      rows.EmailRecord.push([
        tenantAppId,
        ids.email(user, account, email),
        profileId,
        value,
        type,
        random.next() < 0.7,
        email === 1,
        createdAt,
        createdAt,
      ])
    }
  }
}

const platforms = ['YOUTUBE', 'INSTAGRAM', 'TIKTOK', 'TWITCH', 'X']
const categories = ['Music', 'Travel', 'Science', 'Cooking', 'Sports', 'Games', 'Fashion', 'Education']
const countries = ['DE', 'FR', 'GB', 'IN', 'JP', 'BR', 'US', 'NG', 'SE', 'MX']
const cities = ['Berlin', 'Lyon', 'Leeds', 'Pune', 'Osaka', 'Recife', 'Austin', 'Lagos', 'Malmö', 'Puebla']
const firstNames = [
  ...['Ada', 'Alan', 'Anna', 'Barbara', 'Chen', 'Claude', 'Dorothy', 'Edsger', 'Elena', 'Fatima', 'Grace', 'Hedy'],
  ...['Ivan', 'Joan', 'Kamal', 'Katherine', 'Linus', 'Maria', 'Mei', 'Niklaus', 'Olga', 'Priya', 'Radia', 'Tim'],
]
const lastNames = [
  ...['Abebe', 'Berg', 'Costa', 'Diaz', 'Eriksson', 'Fischer', 'Garcia', 'Haddad', 'Ito', 'Jensen', 'Kaya', 'Lopez'],
  ...['Moreau', 'Novak', 'Okafor', 'Petrov', 'Quinn', 'Rossi', 'Silva', 'Tanaka', 'Usman', 'Vogel', 'Weber', 'Yilmaz'],
]
