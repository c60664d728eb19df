import { z } from 'zod'
import { isPossibleId } from '../db/ids.ts'
import { isStorableText, isStorableTime } from '../db/storable.ts'
import { isShallow } from '../input/json-depth.ts'
import { httpUrl, type Rule, upperCaseWord } from '../input/rules.ts'

// The records of an import, in the shapes of the REST interface. A field without a value may be left out or null;
// unknown keys are ignored. What is not bounded by the interface is bounded only by what the database can hold.

const storable = z.string().refine(isStorableText, 'must not contain NUL characters or halves of surrogate pairs')
const filled = storable.refine((value) => value.trim() !== '', 'must not be blank')
const id = z.string().refine(isPossibleId, 'must be an id of 1 to 128 characters')
const time = z.iso
  .datetime({ offset: true, error: 'must be a date-time' })
  .transform((value) => new Date(value))
  .refine(isStorableTime, 'must be in the years 1 to 9999')
const count = z.int('must be a whole number').min(0, 'must be 0 or more')
const word = z.string().refine(...asRefinement(upperCaseWord))
const url = z.string().refine(...asRefinement(httpUrl))
const object = z
  .record(z.string(), z.unknown())
  .refine(
    (value) => isShallow(value) && Buffer.byteLength(JSON.stringify(value)) <= 16_384,
    'must have at most 16 KiB, nested at most 64 deep',
  )

/** `1990:05:17`, or with hyphens, as other services write it. */
const date = z
  .string()
  .regex(/^\d{4}[:-]\d{2}[:-]\d{2}$/, 'must be a date, such as 1990:05:17')
  .transform((value) => value.replaceAll(':', '-'))
  .refine((value) => new Date(value).toJSON()?.startsWith(value) && value > '0001', 'must be a date that exists')

const account = z.object({ id, user_platform: word, platform_account_id: filled, display_name: filled })

/** A user with accounts. */
const user = z.object({
  id,
  created_at: time,
  updated_at: time,
  name: filled,
  email: filled,
  phone: orNull(storable),
  accounts: z.array(account),
})

const email = z.object({
  id,
  value: filled,
  type: orNull(storable),
  is_verified: z.boolean().default(false),
  is_primary: z.boolean().default(false),
  created_at: time,
  updated_at: time,
})

/** A profile with its account: by id, or by what the platform calls it. */
const profile = z.object({
  id,
  account_id: orNull(id),
  user_platform: word,
  platform_account_id: filled,
  username: orNull(storable),
  url: orNull(url),
  gender: orNull(word),
  full_name: orNull(storable),
  first_name: orNull(storable),
  last_name: orNull(storable),
  nick_name: orNull(storable),
  display_name: orNull(storable),
  description: orNull(storable),
  profile_picture_url: orNull(url),
  date_of_birth: orNull(date),
  category: orNull(storable),
  website_url: orNull(url),
  country: orNull(storable),
  emails: orEmpty(email),
  phone_numbers: orEmpty(object),
  addresses: orEmpty(object),
  followers_count: orNull(count),
  following_count: orNull(count),
  subscribers_count: orNull(count),
  contents_count: orNull(count),
  watch_time_in_hours: orNull(z.number().min(0, 'must be 0 or more')),
  joined_at: orNull(time),
  verified: orNull(z.boolean()),
})

const jobStatuses = ['pending', 'running', 'succeeded', 'failed', 'cancelled'] as const

const work = z.record(z.string(), z.unknown()).refine(isShallow, 'must be nested at most 64 deep')

const job = z.object({
  id,
  status: z.enum(jobStatuses, `must be one of ${jobStatuses.join(', ')}`),
  job_type: orNull(storable),
  payload: orNull(work),
  result: orNull(work),
  attempts: z.int().min(0).max(2_147_483_647).default(0),
  created_at: orNull(time),
  updated_at: orNull(time),
})

export type UserRecord = z.output<typeof user>
export type ProfileRecord = z.output<typeof profile>
export type JobRecord = z.output<typeof job>

/** A record that was read, with its kind. */
export type ImportRecord =
  | { readonly kind: 'user'; readonly value: UserRecord }
  | { readonly kind: 'profile'; readonly value: ProfileRecord }
  | { readonly kind: 'job'; readonly value: JobRecord }

/** A record that cannot be imported. The message says why. */
export class RecordError extends Error {
  override readonly name = 'RecordError'
}

/**
 * Reads a parsed line: a user is known by its `accounts`, a job by its `status`, a profile by its `user_platform`.
 *
 * @throws RecordError naming every field that is refused
 */
export function readRecord(value: unknown): ImportRecord {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new RecordError('is not a JSON object')
  if ('accounts' in value) return { kind: 'user', value: parse(user, value) }
  if ('status' in value) return { kind: 'job', value: parse(job, value) }
  if ('user_platform' in value) return { kind: 'profile', value: parse(profile, value) }
  throw new RecordError('is no user (accounts), profile (user_platform) or job (status)')
}

function parse<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const { data, error } = schema.safeParse(value)
  if (!error) return data as z.output<Schema>
  throw new RecordError(error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; '))
}

function asRefinement(
  rule: Rule<string>,
): [(value: string) => boolean, { error: (issue: { input?: unknown }) => string }] {
  return [(value) => rule(value) === undefined, { error: ({ input }) => rule(String(input))?.message ?? 'is refused' }]
}

function orNull<Schema extends z.ZodType>(schema: Schema) {
  return schema.nullish().transform((value) => value ?? null)
}

function orEmpty<Schema extends z.ZodType>(schema: Schema) {
  return z
    .array(schema)
    .nullish()
    .transform((value) => value ?? [])
}
