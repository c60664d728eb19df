import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import type { Database } from '../../engine/db/database.ts'
import type { Job } from '../../engine/db/generated/prisma/client.ts'
import { id, orNull, recordTime, storableText, storedObject } from '../../engine/input/rules.ts'
import { RecordError, type Transfer } from '../resource.ts'

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

const jobRecord = z.object({
  id,
  status: z.enum(statuses, `must be one of ${statuses.join(', ')}`),
  job_type: orNull(storableText),
  // Older versions had no limits of their own.
  payload: orNull(storedObject(16_384)),
  result: orNull(storedObject(16_384)),
  attempts: z.int().min(0).max(2_147_483_647).default(0),
  created_at: orNull(recordTime),
  updated_at: orNull(recordTime),
})

type JobRecord = z.output<typeof jobRecord>

/** Jobs. No worker runs an imported job. */
export const jobTransfer: Transfer<JobRecord> = {
  recognisedBy: 'status',
  record: jobRecord,
  write: writeJobs,
  export: {
    operation: `query ExportJobs($first: Int, $after: String) {
      jobs(first: $first, after: $after) { nodes { ${jobSelection} } pageInfo { hasNextPage endCursor } }
    }`,
    path: 'jobs.nodes',
    connection: 'jobs',
  },
}

/**
 * Writes jobs. A record without a creation time gets the current time. Jobs that workers of this database run are skipped
 * if the record equals them.
 *
 * @throws RecordError if the record of such a job differs from it
 */
async function writeJobs(database: Database, tenantAppId: string, jobs: readonly JobRecord[]): Promise<void> {
  const ids = jobs.map(({ id }) => id)
  const existing = await database.reads.batch('Job', 'id', { tenantAppId }, ids)
  const byId = new Map(existing.map((job) => [job.id, job]))
  const imported = jobs.filter((record) => {
    const job = byId.get(record.id)
    if (!job || job.runAt === null) return true
    if (!equals(record, job)) throw new RecordError(`the job ${job.id} exists and was not imported`)
    return false
  })
  const now = new Date()
  await database.insertRows(
    'Job',
    imported.map(({ id, status, job_type: jobType, payload, result, attempts, created_at, updated_at }) => ({
      tenantAppId,
      id,
      status: status.toUpperCase(),
      jobType,
      payload: payload && JSON.stringify(payload),
      result: result && JSON.stringify(result),
      attempts,
      createdAt: created_at ?? byId.get(id)?.createdAt ?? now,
      updatedAt: updated_at ?? byId.get(id)?.updatedAt ?? now,
    })),
    { update: ['status', 'jobType', 'payload', 'result', 'attempts', 'createdAt', 'updatedAt'] },
  )
}

function equals({ status, job_type, payload, result, attempts, updated_at }: JobRecord, job: Job): boolean {
  return isDeepStrictEqual(
    [status.toUpperCase(), job_type, payload, result, attempts, updated_at ?? job.updatedAt],
    [job.status, job.jobType, job.payload, job.result, job.attempts, job.updatedAt],
  )
}
