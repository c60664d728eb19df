import { idsWithPrefix } from '../../engine/db/ids.ts'
import { one } from '../../engine/db/read/relation.ts'
import type { Seed } from '../resource.ts'

export const jobIds = idsWithPrefix('job')

export const jobById = one('Job', 'id')

/** Why an attempt of a job failed, as its row stores it. */
export interface JobFailure {
  readonly code: string
  readonly message: string
  /** The number of the attempt, from 1. */
  readonly attempt: number
  /** When it failed, RFC 3339. */
  readonly at: string
}

const payload = JSON.stringify({ url: 'https://example.com/feed.xml' })
const result = JSON.stringify({ contentIds: ['content_1', 'content_2'], contentGroupIds: ['group_1'] })
const createdAt = new Date('2026-01-01T00:00:00.000Z')

/** Jobs of the demo tenant. They have no `runAt`, so no worker runs them. */
export const jobSeed: Seed = {
  model: 'Job',
  fields: ['tenantAppId', 'id', 'status', 'jobType', 'payload', 'result', 'attempts', 'createdAt', 'updatedAt'],
  demoRows: (tenantAppId) => [
    [tenantAppId, 'job_demo_1', 'SUCCEEDED', 'fetch_content', payload, result, 1, createdAt, createdAt],
    [tenantAppId, 'job_demo_2', 'PENDING', 'fetch_content', payload, null, 0, createdAt, createdAt],
    [tenantAppId, 'job_demo_3', 'FAILED', 'fetch_content', payload, null, 3, createdAt, createdAt],
  ],
}
