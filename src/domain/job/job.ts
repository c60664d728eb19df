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
  demoRows(tenantAppId) {
    const job = { tenantAppId, jobType: 'fetch_content', payload, createdAt, updatedAt: createdAt }
    return [
      { ...job, id: 'job_demo_1', status: 'SUCCEEDED', result, attempts: 1 },
      { ...job, id: 'job_demo_2', status: 'PENDING', result: null, attempts: 0 },
      { ...job, id: 'job_demo_3', status: 'FAILED', result: null, attempts: 3 },
    ]
  },
}
