import { randomUUID } from 'node:crypto'
import {
  type GraphQLField,
  type GraphQLInputType,
  getNamedType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isListType,
  isObjectType,
  isUnionType,
} from 'graphql'
import { schemas } from '../../src/domain/schema.graphql.ts'

const { schema } = schemas

/** The ids of rows that exist. */
export interface SampleIds {
  readonly userId: string
  readonly accountId: string
  readonly jobId: string
}

/** A field of the type Query, Mutation or Subscription. */
export type Field = GraphQLField<unknown, unknown>

/** Values that the services accept, for inputs whose type allows invalid values too. */
function valueByName(name: string, { userId, accountId, jobId }: SampleIds): unknown {
  const values: Record<string, unknown> = {
    accountId,
    accountIds: [accountId],
    code: 'BUSY',
    country: 'DE',
    email: 'ada@example.com',
    // Each user has another one.
    externalId: randomUUID(),
    fields: ['email'],
    first: 2,
    gender: 'FEMALE',
    ids: [userId, jobId],
    jobType: 'greet',
    jobTypes: ['greet'],
    leaseToken: '00000000-0000-4000-8000-000000000000',
    limit: 1,
    leaseSeconds: 30,
    maxAttempts: 2,
    platform: 'YOUTUBE',
    profilePictureUrl: 'https://example.com/picture',
    progress: 0.5,
    unsupportedFields: ['gender'],
    url: 'https://example.com/',
    userId,
    websiteUrl: 'https://example.com/site',
  }
  return values[name]
}

const valueByType: Record<string, unknown> = {
  Boolean: true,
  Date: '1990-05-17',
  DateTime: '2026-01-31T08:00:00.000Z',
  Float: 12.5,
  ID: 'an-id',
  Int: 1,
  JSONObject: { z: 1, a: [null, { ключ: '"' }] },
  JSONScalar: 'a text',
  SafeInt: 2 ** 53 - 1,
  String: 'a text',
}

/** Whether a sample of a filter leaves out a field: there are more conditions on null than a filter may have. */
const isOneOfMany = (name: string) => name.endsWith('IsNull') && name !== 'verifiedIsNull'

/**
 * @param isInner whether the value is within a filter. Filters in it are empty, because it has at most 20 conditions
 */
function sampleOf(type: GraphQLInputType, name: string, ids: SampleIds, isInner = false): unknown {
  const known = valueByName(name, ids)
  if (known !== undefined) return known
  const nullable = getNullableType(type)
  if (isListType(nullable)) return [sampleOf(nullable.ofType, name, ids, isInner)]
  if (isEnumType(nullable)) return nullable.getValues()[0]?.name
  if (!isInputObjectType(nullable)) return valueByType[nullable.toString()]
  const isFilter = nullable.name.endsWith('Filter')
  const fields = Object.values(nullable.getFields()).filter(
    // A mutation that expects another time writes nothing.
    // The id of a user is given.
    ({ name: of }) =>
      !['expectedUpdatedAt', 'userExternalId'].includes(of) &&
      // A user can be created twice.
      !(nullable.name === 'CreateUserInput' && of === 'externalId') &&
      (!isFilter || !(isInner || isOneOfMany(of))),
  )
  const given = nullable.isOneOf ? fields.slice(0, 1) : fields
  return Object.fromEntries(given.map((field) => [field.name, sampleOf(field.type, field.name, ids, isFilter)]))
}

/** Arguments that exclude another argument of the same field. */
const exclusive = new Set(['last', 'after', 'before'])

/** Creates an operation with every argument of a root field in a variable, and the values of the variables. */
export function operationOf(kind: string, { name, args, type }: Field, ids: SampleIds) {
  const passed = args.filter((arg) => !exclusive.has(arg.name))
  const declared = passed.map((arg) => `$${arg.name}: ${arg.type}`).join(', ')
  const used = passed.map((arg) => `${arg.name}: $${arg.name}`).join(', ')
  const named = getNamedType(type)
  const userErrors = isObjectType(named) && 'userErrors' in named.getFields() ? 'userErrors { code field message }' : ''
  const result = isObjectType(named) || isUnionType(named) || 'getFields' in named ? `{ __typename ${userErrors} }` : ''
  const [open, close] = passed.length > 0 ? [`(${declared})`, `(${used})`] : ['', '']
  return {
    query: `${kind} ${open} { ${name}${close} ${result} }`,
    variables: Object.fromEntries(passed.map((arg) => [arg.name, sampleOf(arg.type, arg.name, ids)])),
  }
}

/** The fields of a root type. */
export const fieldsOf = (kind: 'Query' | 'Mutation' | 'Subscription') =>
  Object.values((schema.getType(kind) as { getFields(): Record<string, Field> }).getFields())
