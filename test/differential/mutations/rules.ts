import type { Input } from './inputs.ts'
import type { Rejection } from './model.ts'

type Check = (input: Input) => Rejection[]

const ifWrong = (isWrong: boolean, field: string, code: string): Rejection[] => (isWrong ? [{ field, code }] : [])

const filled =
  (field: string): Check =>
  ({ [field]: value }) =>
    ifWrong(value != null && String(value).trim() === '', field, 'REQUIRED')

/** A change leaves a field out to keep its value. */
const notNull =
  (field: string): Check =>
  ({ [field]: value }) =>
    ifWrong(value === null, field, 'REQUIRED')

const email: Check = ({ email: value }) =>
  ifWrong(value != null && !String(value).includes('@'), 'email', 'INVALID_FORMAT')

/** No row has an empty id. */
const possible =
  (field: string): Check =>
  ({ [field]: value }) =>
    ifWrong(value === '', field, 'NOT_FOUND')

/** An input is rejected by all rules that it breaks, or else by the first of these ids that no row can have. */
interface Rules {
  readonly checks: readonly Check[]
  readonly ids: readonly Check[]
}

const rules: Readonly<Record<string, Rules>> = {
  createUser: { checks: [filled('name'), email], ids: [] },
  updateUser: { checks: [notNull('name'), filled('name'), notNull('email'), email], ids: [possible('id')] },
  deleteUser: { checks: [], ids: [possible('id')] },
  linkAccount: {
    checks: [
      ({ id }) => ifWrong(id === '', 'id', 'INVALID_FORMAT'),
      ({ platform }) => ifWrong(!/^[A-Z]+$/.test(String(platform)), 'platform', 'INVALID_FORMAT'),
      filled('displayName'),
    ],
    ids: [possible('userId')],
  },
  updateAccount: { checks: [notNull('displayName'), filled('displayName'), notNull('status')], ids: [possible('id')] },
  unlinkAccount: { checks: [], ids: [possible('id')] },
  syncProfile: { checks: [], ids: [possible('accountId')] },
  createJob: {
    checks: [
      ({ jobType }) => ifWrong(!/^[A-Za-z]/.test(String(jobType)), 'jobType', 'INVALID_FORMAT'),
      ({ maxAttempts }) => ifWrong(Number(maxAttempts) > 100, 'maxAttempts', 'OUT_OF_RANGE'),
    ],
    ids: [],
  },
}

/** Why an input is rejected whatever rows there are. */
function rejectionsOf(name: string, input: Input): Rejection[] {
  const { checks = [], ids = [] } = rules[name] ?? {}
  const found = checks.flatMap((check) => check(input))
  return found.length > 0 ? found : ids.flatMap((check) => check(input))
}

/** What two inputs of one call must not have in common, by the field that is rejected. */
const unique: Readonly<Record<string, Readonly<Record<string, (input: Input) => unknown>>>> = {
  updateUser: { id: ({ id }) => id },
  deleteUser: { id: ({ id }) => id },
  unlinkAccount: { id: ({ id }) => id },
  syncProfile: { accountId: ({ accountId }) => accountId },
  createJob: { idempotencyKey: ({ idempotencyKey }) => idempotencyKey },
  linkAccount: {
    platformAccountId: ({ platform, platformAccountId }) => `${platform} ${platformAccountId}`,
    id: ({ id }) => id,
  },
}

/** Rejects inputs by themselves: by the rules, and because an earlier valid one has the same id, key or account. */
export function rejectEach(name: string, inputs: readonly Input[]): Rejection[][] {
  const taken = new Set<string>()
  return inputs.map((input) => {
    const rejections = rejectionsOf(name, input)
    if (rejections.length > 0) return rejections
    const keys = Object.entries(unique[name] ?? {}).flatMap(([field, read]) => {
      const value = read(input)
      return value == null ? [] : [{ field, key: `${field} ${value}` }]
    })
    const repeated = keys.filter(({ key }) => taken.has(key)).map(({ field }) => ({ field, code: 'DUPLICATE' }))
    if (repeated.length === 0) for (const { key } of keys) taken.add(key)
    return repeated
  })
}
