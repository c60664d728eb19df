import { isDeepStrictEqual } from 'node:util'
import { type Database, dataModel, type Job } from '@fusion-gateway/database'
import {
  id,
  indexedText,
  integer,
  orNull,
  recordTime,
  recordTimeText,
  storableText,
  storedObject,
  withDefault,
} from '@fusion-gateway/input'
import { deleteEach, insertRows } from '@fusion-gateway/prisma-trees'
import { z } from 'zod'
import { type EventType, eventTypes } from '../event/event.ts'
import { type Deletion, RecordError, type Transfer } from '../resource.ts'
import { progress } from './job.input.ts'

/** The GraphQL selection of a job with some fields of its error. The aliases are the keys of the record. */
const selectionWith = (fieldsOfError: string) => `
  id
  status
  job_type: jobType
  payload
  result
  error { ${fieldsOfError} }
  attempts
  created_at: createdAt
  updated_at: updatedAt`

export const jobSelection = selectionWith('code message')

const statuses = ['pending', 'running', 'succeeded', 'failed', 'cancelled'] as const

const int32 = integer(0, 2_147_483_647)

const jobRecord = z.object({
  id,
  status: z.enum(statuses, `must be one of ${statuses.join(', ')}`),
  job_type: orNull(indexedText),
  // Older versions had no limits of their own.
  payload: orNull(storedObject(16_384)),
  result: orNull(storedObject(16_384)),
  attempts: withDefault(int32, 0),
  created_at: orNull(recordTime),
  updated_at: orNull(recordTime),
  error: orNull(
    z.object({
      code: storableText,
      message: storableText,
      // Exports have these, and the ones below; REST does not.
      attempt: orNull(int32),
      at: orNull(recordTimeText),
    }),
  ),
  progress: orNull(progress),
  progress_message: orNull(storableText),
  started_at: orNull(recordTime),
  finished_at: orNull(recordTime),
})

type JobRecord = z.output<typeof jobRecord>

/** Jobs. No worker runs an imported job. */
export const jobTransfer: Transfer<JobRecord> = {
  recognisedBy: 'status',
  // Accounts have a status too. Of a job, no other key is required.
  without: 'user_platform',
  record: jobRecord,
  write: writeJobs,
  export: {
    operation: `query ExportJobs($first: Int, $after: String) {
      jobs(first: $first, after: $after) {
        nodes {
          ${selectionWith('code message attempt at')}
          progress
          progress_message: progressMessage
          started_at: startedAt
          finished_at: finishedAt
        }
        pageInfo { hasNextPage endCursor }
      }
    }`,
    path: 'jobs.nodes',
    connection: 'jobs',
    changedBy: (Object.keys(eventTypes) as EventType[]).filter((type) => type.startsWith('JOB_')),
  },
}

/** Removing a job because of its age writes no event. */
export const jobDeletion: Deletion = { delete: deleteJobs }

/**
 * Writes jobs. A record without a creation time gets the current time. Jobs that workers of this database run are
 * skipped if the record equals them.
 *
 * @throws RecordError if the record of such a job differs from it
 */
async function writeJobs(database: Database, tenantAppId: string, jobs: readonly JobRecord[]): Promise<void> {
  const ids = jobs.map(({ id }) => id)
  const byId = await readJobs(database, tenantAppId, ids)
  const imported = jobs.filter((record) => {
    const job = byId.get(record.id)
    if (!job || job.runAt === null) return true
    if (!equals(record, job)) throw notImported(job)
    return false
  })
  const now = new Date()
  const rows = imported.map(({ id, status, attempts, progress, error, ...record }) => ({
    tenantAppId,
    id,
    status: status.toUpperCase(),
    jobType: record.job_type,
    payload: toJson(record.payload),
    result: toJson(record.result),
    attempts,
    error: toJson(
      error && {
        ...error,
        attempt: error.attempt ?? attempts,
        at: error.at ?? (record.finished_at ?? record.updated_at ?? now).toISOString(),
      },
    ),
    progress,
    progressMessage: record.progress_message,
    startedAt: record.started_at,
    finishedAt: record.finished_at,
    createdAt: record.created_at ?? byId.get(id)?.createdAt ?? now,
    updatedAt: record.updated_at ?? byId.get(id)?.updatedAt ?? now,
  }))
  // The other columns are those with which a database runs a job.
  const update = Object.keys(rows[0] ?? {}).filter((field) => field !== 'tenantAppId' && field !== 'id')
  await insertRows(database.sql, dataModel('Job'), rows, { update })
}

const toJson = (value: object | null) => value && JSON.stringify(value)

/** @throws RecordError if workers of this database run one of the jobs */
async function deleteJobs(database: Database, tenantAppId: string, ids: readonly string[]): Promise<void> {
  for (const job of (await readJobs(database, tenantAppId, ids)).values())
    if (job.runAt !== null) throw notImported(job)
  await deleteEach({ sql: database.sql, owner: { id: tenantAppId }, model: dataModel }, 'Job', {
    where: ids.map((id) => ({ id })),
    select: { id: true },
  })
}

async function readJobs(
  { sql, reads }: Database,
  tenantAppId: string,
  ids: readonly string[],
): Promise<Map<string, Job>> {
  const existing = await reads.batch(sql, 'Job', 'id', { id: tenantAppId }, ids)
  return new Map(existing.map((job) => [job.id, job]))
}

const notImported = ({ id }: Job) => new RecordError(`the job ${id} exists and was not imported`)

function equals({ status, job_type, payload, result, attempts, updated_at }: JobRecord, job: Job): boolean {
  return isDeepStrictEqual(
    [status.toUpperCase(), job_type, payload, result, attempts, updated_at ?? job.updatedAt],
    [job.status, job.jobType, job.payload, job.result, job.attempts, job.updatedAt],
  )
}
