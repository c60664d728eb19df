import { one } from '@fusion-gateway/prisma-trees'
import { idsWithPrefix } from '@fusion-gateway/sql'
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
const hour = 3_600_000

/** Jobs of the demo tenant. They have no `runAt`, so no worker runs them. */
export const jobSeed: Seed = {
  model: 'Job',
  demoRows(tenantAppId, now) {
    const after = (time: Date, milliseconds: number) => new Date(time.getTime() + milliseconds)
    /** A job that was created some hours ago, and took some milliseconds or still waits. */
    const jobOf = (number: number, hours: number, duration?: number) => {
      const createdAt = after(now, -hours * hour)
      const startedAt = duration === undefined ? null : after(createdAt, 640)
      const finishedAt = startedAt && after(startedAt, duration ?? 0)
      return {
        tenantAppId,
        id: `job_demo_${number}`,
        jobType: 'fetch_content',
        payload,
        status: 'PENDING',
        result: null,
        error: null,
        attempts: startedAt ? 1 : 0,
        createdAt,
        startedAt,
        finishedAt,
        updatedAt: finishedAt ?? createdAt,
      }
    }
    const failed = jobOf(3, 1.2, 870)
    const error: JobFailure = {
      code: 'PermanentError',
      message: 'The URL answered with status 404',
      attempt: 1,
      at: (failed.finishedAt ?? now).toISOString(),
    }
    return [
      { ...jobOf(1, 50.5, 4_310), status: 'SUCCEEDED', result },
      jobOf(2, 3.4),
      { ...failed, status: 'FAILED', error: JSON.stringify(error) },
    ]
  },
}
