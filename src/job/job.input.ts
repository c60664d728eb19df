import { z } from 'zod'
import { fieldErrorCodeOf } from '../input/parse-input.ts'
import { filterText, integer, matching, rule, storedObject, text, withoutProtoKey } from '../input/rules.ts'

/** The type of a job, which selects its handler. */
export const jobType = text(64).check(
  matching(/^[A-Za-z][\w.-]*$/, 'must be a letter, then letters, digits, underscores, hyphens and periods'),
)

/** The payload of a job. */
const jobPayload = storedObject(64).check(withoutProtoKey)

/** The result of a job. */
export const jobResult = storedObject(256).check(withoutProtoKey)

/** The input of `createJob`. */
export const newJob = z.object({
  jobType,
  payload: jobPayload.nullish(),
  /** 3 by default. */
  maxAttempts: integer(1, 100).nullish(),
  /** The job does not start earlier. Now by default. */
  runAt: z.date().nullish(),
  /** A second call with the same key returns the job of the first one. */
  idempotencyKey: text(128).nullish(),
})

/** The longest code and message of a failure, in characters. */
export const maxCodeLength = 64
export const maxMessageLength = 2_000

const maxJobTypes = 50
const leaseSeconds = integer(1, 3_600)
  .nullish()
  .transform((seconds) => seconds ?? 60)

const jobTypes = z.array(z.string()).check(
  rule((types) => {
    if (types.length === 0) return { code: 'REQUIRED', message: 'must name a job type' }
    if (types.length > maxJobTypes) return { code: 'TOO_LONG', message: `must have at most ${maxJobTypes} entries` }
    const { error } = z.array(jobType).safeParse(types)
    return error?.issues[0] && { code: fieldErrorCodeOf(error.issues[0]), message: error.issues[0].message }
  }),
)

/** The input of `claimJobs`. */
export const claimInput = z.object({
  limit: integer(1, 100)
    .nullish()
    .transform((limit) => limit ?? 1),
  leaseSeconds,
  jobTypes,
})

/** How the worker that holds a job names it. */
export interface HeldJobInput {
  readonly id: string
  readonly leaseToken: string
}

/** The inputs of the mutations of a worker, without the id and the token. */
export const extendInput = z.object({ leaseSeconds })
export const progressInput = z.object({
  progress: z.number().min(0, 'must be from 0 to 1').max(1, 'must be from 0 to 1'),
  message: text(maxMessageLength).nullish(),
})
export const resultInput = z.object({ result: jobResult.nullish() })
export const failureInput = z.object({
  code: text(maxCodeLength),
  message: text(maxMessageLength),
  retryable: z
    .boolean()
    .nullish()
    .transform((isRetryable) => isRetryable ?? true),
})

/** The texts of the filter of `jobs`. */
export const jobFilter = z.object({ jobType: filterText.nullish() })
