import {
  type GraphQLInputType,
  getNamedType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isListType,
} from 'graphql'
import type { Random } from '../../../src/domain/resource.ts'
import { counts, sharedIds } from '../world/create-rows.ts'

// Random values of arguments. Most of them select some of the rows.

const range = (prefix: string, length: number) => Array.from({ length }, (_, index) => `${prefix}_${index + 1}`)

/** Ids of each type: of rows, and a few that no row has. */
const ids = {
  User: [...range('usr', counts.users), ...sharedIds, 'usr_none'],
  Account: [...range('acc', counts.accounts), ...sharedIds, 'acc_none'],
  Profile: [...range('prf', 32), ...sharedIds, 'prf_none'],
  EmailRecord: [...range('eml', 40), ...sharedIds, 'eml_none'],
  Job: [...range('job', counts.jobs), ...sharedIds, 'job_none'],
  other: [...sharedIds, 'nobody', 'key_none', '', 'whk_none', '__proto__'],
}

const anyId = Object.values(ids).flat()

/** The ids for an argument or an input field, by the end of its path. */
const idsByPath: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^(user\.id|.*\.userId|users\.filter(\.(and|or|not))*\.ids|.*\.user(\.(and|or|not))*\.ids)$/, ids.User],
  [
    /^(account\.id|profiles\.accountIds|accounts(Connection)?\.filter(\.(and|or|not))*\.ids|.*\.account(\.(and|or|not))*\.ids)$/,
    ids.Account,
  ],
  [/^(profile\.id|searchProfiles\.filter(\.(and|or|not))*\.ids|.*\.profile(\.(and|or|not))*\.ids)$/, ids.Profile],
  [/^(emailRecord\.id)$/, ids.EmailRecord],
  [/^(job\.id|jobs\.filter(\.(and|or|not))*\.ids)$/, ids.Job],
]

const parts = ['a', 'A', 'ad', '%', '_', '\\', "'", '0%', '@', '', 'nobody', '𝒜x', 'É', 'example.COM']
const platforms = ['X', 'YOUTUBE', 'TWITCH', 'NONE']
const texts: Readonly<Record<string, readonly string[]>> = {
  search: parts,
  nameContains: parts,
  platform: platforms,
  platforms,
  country: ['DE', 'FR', 'XX'],
  countries: ['DE', 'FR', 'XX'],
  category: ['Music', 'Travel', '', 'music'],
  categories: ['Music', 'Travel', ''],
  email: range('usr', 9).map((id) => `${id}.1@Example.com`),
  jobType: ['fetch_content', 'render', 'none'],
}

/** Times of rows, and between them, in several notations. */
const times = [1, 2, 3, 4, 5].flatMap((day) => [
  `2026-01-0${day}T08:30:00.00${day}Z`,
  `2026-01-0${day}T12:00:00Z`,
  `2026-01-0${day}T10:30:00.00${day}+02:00`,
])

const pageSizes = [1, 2, 3, 1, 2, 3, 5, 20]

/** References that name no type or key. */
const noReferences = [
  { __typename: 'Order', id: 'usr_1' },
  { __typename: 'User' },
  { __typename: 'User', id: true },
  { __typename: 'Account', platform: 'X' },
  { id: 'usr_1' },
  'usr_1',
]

/** The types to which routers refer. Accounts have two keys. */
const entityTypes = ['User', 'Account', 'Account', 'Profile', 'EmailRecord', 'Job'] as const

/** The number of items of a list. */
export function lengthOfList(type: GraphQLInputType, { below }: Pick<Random, 'below'>): number {
  const named = getNamedType(type)
  if (named.name === '_Any') return below(9)
  return below(isInputObjectType(named) ? 3 : 5)
}

/** A random JSON value of an input type. */
export type CreateValue = (type: GraphQLInputType, path: string) => unknown

/**
 * Creates the function that returns values.
 *
 * @param path where the value is used: `users.filter.and.ids`
 */
export function createValues({ below, pick }: Random): CreateValue {
  const rarely = () => below(50) === 0
  const references: unknown[] = []

  /** A reference of a router, or one that was there before. */
  function reference(): unknown {
    if (below(40) === 0) return pick(noReferences)
    if (references.length > 0 && below(4) === 0) return pick(references)
    const typename = pick(entityTypes)
    const byPlatform = () => ({ platform: pick(platforms), platformAccountId: `channel_${pick(ids.Account)}` })
    const byId = () => ({ id: below(12) === 0 ? pick(anyId) : pick(ids[typename]) })
    const keys = typename === 'Account' ? pick([[byId], [byPlatform], [byPlatform], [byId, byPlatform]]) : [byId]
    // A router also sends the fields that a field of its own requires.
    const created = {
      __typename: typename,
      ...Object.assign({}, ...keys.map((key) => key())),
      ...(below(8) === 0 && { name: 'Ada' }),
    }
    references.push(created)
    return created
  }

  function idFor(path: string): string {
    if (below(12) === 0) return pick(anyId)
    return pick(idsByPath.find(([pattern]) => pattern.test(path))?.[1] ?? anyId)
  }

  function leaf(typename: string, path: string): unknown {
    const name = path.split('.').at(-1) ?? ''
    if (typename === '_Any') return reference()
    if (typename === 'ID') return idFor(path)
    if (typename === 'DateTime') return pick(times)
    if (typename === 'Boolean') return below(2) === 0
    if (typename === 'SafeInt') return pick([0, 1, 5, 1_000, 2_999_999_999, 2 ** 53 - 1])
    if (typename === 'Int') return rarely() ? pick([-1, 500, 501, 2_147_483_647]) : pick(pageSizes)
    return pick(texts[name] ?? ['x', ''])
  }

  return function value(type, path): unknown {
    const nullable = getNullableType(type)
    if (isListType(nullable)) {
      const item = () => value(nullable.ofType, path)
      // GraphQL reads a single value as a list of one.
      if (below(8) === 0) return item()
      return Array.from({ length: lengthOfList(type, { below }) }, item)
    }
    if (isEnumType(nullable)) return pick(nullable.getValues()).name
    if (!isInputObjectType(nullable)) return leaf(getNamedType(nullable).name, path)
    const fields = pickFields(Object.values(nullable.getFields()), path, { below, pick })
    return Object.fromEntries(
      fields.map((field) => [
        field.name,
        getNullableType(field.type) === field.type && rarely() ? null : value(field.type, `${path}.${field.name}`),
      ]),
    )
  }
}

interface InputField {
  readonly name: string
  readonly type: GraphQLInputType
}

/** How deep filters are nested. The gateway accepts four levels and 20 conditions. */
const maxNesting = 3

/** Some fields of an input type: all required ones, and one to three others. Filters end at a depth. */
export function pickFields<Field extends InputField>(
  all: readonly Field[],
  path: string,
  { below, pick }: Pick<Random, 'below' | 'pick'>,
): Field[] {
  const nesting = path.split('.').length - 2
  // Conditions on JSON are compared by test/resources/external-ids.test.ts.
  const known = all.filter(({ type }) => getNamedType(type).name !== 'MetadataCondition')
  const possible = known.filter(({ type }) => nesting < maxNesting || !isInputObjectType(getNamedType(type)))
  const required = possible.filter(({ type }) => getNullableType(type) !== type)
  const optional = possible.filter((field) => !required.includes(field))
  const count = optional.length === 0 ? 0 : pick([0, 1, 1, 1, 2, 2, 3])
  const picked = new Set([...required, ...Array.from({ length: count }, () => pick(optional))])
  // In any order.
  return [...picked].sort(() => below(3) - 1)
}
