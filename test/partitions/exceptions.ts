/** A statement that may read several partitions. */
export interface Exception {
  readonly name: string
  /** Whether a statement is this one. */
  readonly matches: RegExp
  /** Why no row can reach another tenant. */
  readonly reason: string
}

/** The statements that serve all tenants at once. A statement of a request is never one of them. */
export const exceptions: readonly Exception[] = [
  {
    name: "a worker's claim of jobs of all tenants",
    matches: /WITH RECURSIVE tenant \(id\)/,
    reason: 'Only the operator starts a worker. It hands each job to a handler together with the tenant of the job.',
  },
  {
    name: "a worker's search for queues, where tenants are on several servers",
    matches: /SELECT job_type, tenant_app_id FROM job\s+WHERE status = 'PENDING'/,
    reason: 'It lists tenants and types. The statements that claim jobs name one of each.',
  },
  {
    name: 'maintenance: tenants with expired leases',
    matches: /SELECT DISTINCT tenant_app_id FROM job WHERE status = 'RUNNING'/,
    reason: 'It lists tenants. The statements that end attempts whose worker is gone name one of them.',
  },
  {
    name: 'maintenance: retention of jobs',
    matches: /FROM job WHERE finished_at < now\(\)/,
    reason: 'It deletes by age, and returns a time and the number of jobs.',
  },
  {
    name: 'maintenance: retention of stored responses',
    matches: /FROM idempotent_answer WHERE created_at < now\(\)/,
    reason: 'It deletes by age, and returns a time and the number of responses.',
  },
  {
    name: 'maintenance: tenants whose users were deleted',
    matches: /SELECT DISTINCT tenant_app_id FROM erasure/,
    reason: 'It lists tenants. The statements that erase name one of them.',
  },
  {
    name: 'fusion verify erasure',
    matches: /SELECT count\(\*\) FILTER \(WHERE tenant_app_id::text = ANY/,
    reason: 'The operator looks for a user in all tenants, and gets the names of columns and numbers of rows.',
  },
  {
    name: 'the feed of the event log',
    matches: /FROM event_horizon\(\) AS horizon LEFT JOIN/,
    reason:
      'It reads the partition of each tenant that is followed, and hands each event to the followers of its tenant.',
  },
  {
    name: 'which tables have rows, before their statistics are gathered',
    matches: /^SELECT \(SELECT true FROM public\./,
    reason: 'Commands of the operator ask it after an import. It returns true or nothing for each table.',
  },
  {
    name: 'the search for tenants in whose logs live queries have to look',
    matches: /FROM event_position\(\) AS position LEFT JOIN/,
    reason: 'It reads the partition of each tenant that is followed, and returns names of tenants.',
  },
  {
    name: "a worker's check for jobs that were cancelled, or whose tenant was suspended",
    matches: /FROM job\s+WHERE tenant_app_id = ANY .*status = 'CANCELLED'/s,
    reason:
      'It reads the partition of each job that the worker runs, and aborts the handler of a job by its tenant and id.',
  },
  {
    name: 'the jobs in the metrics',
    matches: /enum_range\(NULL::job_status\)|WITH RECURSIVE queue AS|min\(run_at\)\), 0\)::double precision FROM job/,
    reason: 'An operator sees the jobs of all tenants. The statements return numbers of jobs by state, and a time.',
  },
  {
    name: 'tenants with new events for webhooks',
    matches: /SELECT DISTINCT tenant_app_id FROM webhook WHERE enabled AND .* < node_complete/s,
    reason: 'It lists tenants. The statements that put events into deliveries name one of them.',
  },
  {
    name: 'tenants with due deliveries',
    matches: /SELECT DISTINCT tenant_app_id FROM webhook WHERE .* FROM webhook_delivery AS waiting/s,
    reason: 'It lists tenants. The statements that claim deliveries name one of them.',
  },
  {
    name: 'tenants with deliveries whose worker is gone',
    matches: /SELECT DISTINCT tenant_app_id FROM webhook_delivery WHERE status = 'RUNNING'/,
    reason: 'It lists tenants. The statements that make their deliveries due again name one of them.',
  },
  {
    name: 'the writing of usage',
    matches: /array_agg\(substr\(id.* FROM operation_usage|INSERT INTO operation_usage AS u/s,
    reason:
      'It adds the counts of a process to the rows of the tenant of each, and returns nothing of them to a client.',
  },
  {
    name: 'fusion usage, for all tenants',
    matches: /FROM (operation|field)_usage AS u(?!.*u\.tenant_app_id = \$)|min\(day\)::text FROM field_usage/s,
    reason: 'Only the operator runs it. It names the tenant of each row.',
  },
  {
    name: 'maintenance: tenants with old usage',
    matches: /SELECT DISTINCT tenant_app_id FROM (operation|field)_usage WHERE/,
    reason: 'It lists tenants. The statements that delete name one of them.',
  },
]
