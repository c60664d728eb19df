import { z } from 'zod'
import { id, orNull, recordTime, storableText, storedObject } from '../../engine/input/rules.ts'

/** The GraphQL selection of a job in REST. The aliases are the keys of the record. */
export const jobSelection = `
  id
  status
  job_type: jobType
  payload
  result
  attempts
  created_at: createdAt
  updated_at: updatedAt`

const statuses = ['pending', 'running', 'succeeded', 'failed', 'cancelled'] as const

/** A job, as an import reads it. */
export const jobRecord = z.object({
  id,
  status: z.enum(statuses, `must be one of ${statuses.join(', ')}`),
  job_type: orNull(storableText),
  // Older versions did not limit them.
  payload: orNull(storedObject(16_384)),
  result: orNull(storedObject(16_384)),
  attempts: z.int().min(0).max(2_147_483_647).default(0),
  created_at: orNull(recordTime),
  updated_at: orNull(recordTime),
})
