import type { Database, JobStatus } from '@fusion-gateway/database'

const audit = `
  CREATE TABLE audit (job text NOT NULL, before text, after text NOT NULL);
  CREATE FUNCTION write_audit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO audit VALUES (NEW.id, CASE TG_OP WHEN 'UPDATE' THEN OLD.status::text END, NEW.status);
    RETURN NULL;
  END $$;
  CREATE TRIGGER audit_insert AFTER INSERT ON job FOR EACH ROW EXECUTE FUNCTION write_audit();
  CREATE TRIGGER audit_update AFTER UPDATE ON job FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status)
    EXECUTE FUNCTION write_audit();`

/** Records every change of a job's state from now on, by a trigger. */
export async function recordJobHistory({ sql }: Pick<Database, 'sql'>): Promise<void> {
  await sql.runScript(audit)
}

/** The transitions of jobs that nobody cancels and whose last attempt succeeds. */
const known = ['PENDING → RUNNING', 'RUNNING → PENDING', 'RUNNING → SUCCEEDED']

/**
 * Checks that each job of some types succeeded once, by known transitions, and that its attempts equal its starts.
 *
 * @returns the number of jobs, the sum of their attempts, and a description of each problem
 */
export async function checkJobHistory({ prisma }: Pick<Database, 'prisma'>, jobTypes: string[]) {
  const jobs = await prisma.job.findMany({ where: { jobType: { in: jobTypes } } })
  const transitions = await prisma.$queryRaw<{ job: string; before: JobStatus | null; after: JobStatus }[]>`
    SELECT audit.* FROM audit JOIN job ON job.id = audit.job WHERE job.job_type = ANY (${jobTypes})`
  const problems: string[] = []
  const starts = new Map<string, number>()
  const ends = new Map<string, number>()
  for (const { job, before, after } of transitions) {
    if (before !== null && !known.includes(`${before} → ${after}`)) problems.push(`${job} went ${before} → ${after}`)
    const counted = after === 'RUNNING' ? starts : after === 'SUCCEEDED' ? ends : undefined
    counted?.set(job, (counted.get(job) ?? 0) + 1)
  }
  for (const { id, status, attempts } of jobs) {
    if (status !== 'SUCCEEDED') problems.push(`${id} is ${status}`)
    if (starts.get(id) !== attempts) problems.push(`${id} has ${attempts} attempts and started ${starts.get(id)} times`)
    if (ends.get(id) !== 1) problems.push(`${id} succeeded ${ends.get(id) ?? 0} times`)
  }
  return { jobs: jobs.length, attempts: jobs.reduce((sum, job) => sum + job.attempts, 0), problems }
}
