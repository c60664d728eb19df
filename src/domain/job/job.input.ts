import {
  fieldErrorCodeOf,
  integer,
  listOf,
  matching,
  refusalRule,
  rule,
  storedObject,
  text,
  withDefault,
  withoutProtoKey,
} from '@fusion-gateway/input'
import { z } from 'zod'

export const maxTypeLength = 64
/** PostgreSQL reads it too. Its `\w` has more letters. */
export const typePattern = /^[A-Za-z][A-Za-z0-9_.-]*$/

export const jobType = text(maxTypeLength).check(
  matching(typePattern, 'must be a letter, then letters, digits, underscores, hyphens and periods'),
)

export const defaultMaxAttempts = 3

/** The longest payload and result of a job, as JSON, in KiB. */
const [maxPayloadKib, maxResultKib] = [64, 256]

export const newJob = z.object({
  jobType,
  payload: storedObject(maxPayloadKib).check(withoutProtoKey).nullish(),
  maxAttempts: withDefault(integer(1, 100), defaultMaxAttempts),
  /** The job does not start earlier. Now by default. */
  runAt: z.date().nullish(),
  /** A second call with the same key returns the job of the first one. */
  idempotencyKey: text(128).nullish(),
})

export const jobResult = storedObject(maxResultKib).check(withoutProtoKey)

/** The input of `completeJob`, without the id and the token. */
export const resultInput = z.object({ result: jobResult.nullish() })

/** The longest code and message of a failure, in characters. */
export const maxCodeLength = 64
export const maxMessageLength = 2_000

const maxJobTypes = 50

/** The most jobs that an operation can claim. */
export const maxClaims = 100
const leaseSeconds = withDefault(integer(1, 3_600), 60)

const jobTypes = listOf(z.string(), maxJobTypes).check(
  rule('REQUIRED', 'must name a job type', (types) => types.length > 0),
  refusalRule((types) => {
    const { error } = z.array(jobType).safeParse(types)
    return error?.issues[0] && { code: fieldErrorCodeOf(error.issues[0]), message: error.issues[0].message }
  }),
)

export const claimInput = z.object({
  limit: withDefault(integer(1, maxClaims), 1),
  leaseSeconds,
  jobTypes,
})

export const maxBulk = 1_000

export const bulkInput = z.object({ limit: withDefault(integer(1, maxBulk), maxBulk) })

export interface HeldJobInput {
  readonly id: string
  readonly leaseToken: string
}

export const progress = z.number().min(0, 'must be from 0 to 1').max(1, 'must be from 0 to 1')

/** The inputs of the mutations of a worker, without the id and the token. */
export const extendInput = z.object({ leaseSeconds })
export const progressInput = z.object({
  progress,
  message: text(maxMessageLength).nullish(),
})
export const failureInput = z.object({
  code: text(maxCodeLength),
  message: text(maxMessageLength),
  retryable: withDefault(z.boolean(), true),
})
