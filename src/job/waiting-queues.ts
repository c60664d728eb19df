import type { QueueName } from './job.queue.ts'
import type { JobStore } from './job.store.ts'

/**
 * The queues of these types, of all tenants, in which a job is due. The index is asked for one queue after the other, so
 * that what it costs grows with the queues and not with the jobs in them.
 */
export function findWaitingQueues(
  { prisma }: Pick<JobStore, 'prisma'>,
  jobTypes: readonly string[],
): Promise<QueueName[]> {
  return prisma.$queryRaw<QueueName[]>`
    WITH RECURSIVE queue AS (
      (SELECT job_type, tenant_app_id FROM job
        WHERE status = 'PENDING' AND job_type = ANY(${jobTypes}) AND run_at IS NOT NULL
        ORDER BY job_type, tenant_app_id LIMIT 1)
      UNION ALL
      SELECT next.job_type, next.tenant_app_id FROM queue CROSS JOIN LATERAL (
        SELECT job_type, tenant_app_id FROM job
        WHERE status = 'PENDING' AND job_type = ANY(${jobTypes}) AND run_at IS NOT NULL
          AND (job_type, tenant_app_id) > (queue.job_type, queue.tenant_app_id)
        ORDER BY job_type, tenant_app_id LIMIT 1) AS next)
    SELECT job_type AS "jobType", tenant_app_id AS "tenantAppId" FROM queue
    WHERE EXISTS (SELECT FROM job WHERE status = 'PENDING' AND job.job_type = queue.job_type
      AND job.tenant_app_id = queue.tenant_app_id AND run_at <= now())`
}
