import type { Person, PersonAccount, Random } from '../resource.ts'

/** Writes the ids of seeded rows: `idOf('usr_', 7)`, `idOf('acc_', 7, 2)`. */
export type IdScheme = (prefix: string, ...numbers: readonly number[]) => string

export interface PersonOptions {
  readonly tenantAppId: string
  readonly seed: number
  readonly idScheme: IdScheme
  createdAt(number: number): Date
}

const accountsPerPerson = 3

/** How long a person takes to link an account, and the gateway's client to read its profile. */
const linkMilliseconds = 97_000
const syncMilliseconds = 4_200

/** Generates a person. The same seed and number generate the same person. */
export function createPerson(options: PersonOptions, number: number): Person {
  const { tenantAppId, seed, idScheme } = options
  const createdAt = options.createdAt(number)
  const randomOf = (resource: string) => createRandom(hash(`${seed}/${number}/${resource}`))
  const random = randomOf('person')
  const firstName = random.pick(firstNames.split(' '))
  const lastName = random.pick(lastNames.split(' '))
  const accounts = Array.from({ length: accountsPerPerson }, (_, index): PersonAccount => {
    const platform = platforms[(number + index + 1) % platforms.length] ?? 'YOUTUBE'
    const linkedAt = new Date(createdAt.getTime() + (index + 1) * linkMilliseconds)
    return {
      number: index + 1,
      platform,
      platformAccountId: `${platform.toLowerCase()}-${idScheme('acc_', number, index + 1)}`,
      displayName: `${firstName} on ${platform.charAt(0)}${platform.slice(1).toLowerCase()}`,
      linkedAt,
      syncedAt: new Date(linkedAt.getTime() + syncMilliseconds),
    }
  })
  return {
    tenantAppId,
    firstName,
    lastName,
    fullName: `${firstName} ${lastName}`,
    handle: `${firstName}.${lastName}.${number}`.toLowerCase(),
    gender: random.pick(['FEMALE', 'MALE', 'OTHER']),
    phone: `+1555${String(random.below(10_000_000)).padStart(7, '0')}`,
    createdAt,
    accounts,
    idOf: ({ prefix }, ...numbers) => idScheme(prefix, number, ...numbers),
    randomOf,
  }
}

/** FNV-1a: a small hash that spreads similar texts. @see https://datatracker.ietf.org/doc/draft-eastlake-fnv */
function hash(text: string): number {
  let value = 0x811c9dc5
  for (let index = 0; index < text.length; index += 1) {
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193)
  }
  return value >>> 0
}

const platforms = ['YOUTUBE', 'INSTAGRAM', 'TIKTOK', 'TWITCH', 'X']
const firstNames =
  'Ada Alan Anna Barbara Chen Claude Dorothy Edsger Elena Fatima Grace Hedy ' +
  'Ivan Joan Kamal Katherine Linus Maria Mei Niklaus Olga Priya Radia Tim'
const lastNames =
  'Abebe Berg Costa Diaz Eriksson Fischer Garcia Haddad Ito Jensen Kaya Lopez ' +
  'Moreau Novak Okafor Petrov Quinn Rossi Silva Tanaka Usman Vogel Weber Yilmaz'

/** mulberry32. @see https://gist.github.com/tommyettinger/46a874533244883189143505d203312c */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const below = (limit: number) => Math.floor(next() * limit)
  return { next, below, pick: (items) => items[below(items.length)] as (typeof items)[number] }
}
