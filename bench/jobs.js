import path from 'node:path'
import pg from 'pg'
import { startProcess } from './peer.js'

const jobs = 1_000
const handlers = path.join(import.meta.dirname, 'handlers.js')

/**
 * The measurements of jobs: how many are created per second over HTTP, and how many a worker runs per second.
 *
 * @returns pairs of a title and a function that measures one version
 */
export function createJobsCase(versions, key) {
  return [
    [
      `(p) ${jobs} jobs, each created by createJob`,
      async (name) => {
        const perSecond = await createJobs(versions[name], key)
        await deleteJobs(versions[name])
        return { perSecond }
      },
    ],
    [
      `(p) ${jobs} jobs of three types, run by a worker`,
      async (name) => {
        await createJobs(versions[name], key)
        const perSecond = await runJobs(versions[name])
        await deleteJobs(versions[name])
        return { perSecond }
      },
    ],
  ]
}

async function createJobs({ port }, key) {
  const query = 'mutation ($input: CreateJobInput!) { createJob(input: $input) { job { id } } }'
  const startedAt = performance.now()
  let next = 0
  const connection = async () => {
    for (; next < jobs; ) {
      next += 1
      const input = { jobType: `bench_${next % 3}`, payload: { number: next } }
      const response = await fetch(`http://127.0.0.1:${port}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': key },
        body: JSON.stringify({ query, variables: { input } }),
      })
      const { data } = await response.json()
      if (!data?.createJob?.job) throw new Error('A job was not created')
    }
  }
  await Promise.all(Array.from({ length: 16 }, connection))
  return jobs / ((performance.now() - startedAt) / 1_000)
}

/** Measures from the start of the first job to the end of the last, by the database's clock. */
async function runJobs({ name, root, url }) {
  const env = { DATABASE_URL: url, LOG_LEVEL: 'info' }
  const args = [path.join(root, 'src/cli.ts'), 'work', '--handlers', handlers, '--concurrency', '20']
  const worker = await startProcess(`worker of ${name}`, args, env, /working/)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const ofBench = `job_type LIKE 'bench\\_%'`
  for (let left = jobs; left > 0; ) {
    await new Promise((resolve) => setTimeout(resolve, 100))
    const { rows } = await client.query(
      `SELECT count(*)::int AS left FROM job WHERE ${ofBench} AND status <> 'SUCCEEDED'`,
    )
    left = rows[0].left
  }
  const { rows } = await client.query(
    `SELECT extract(epoch FROM max(finished_at) - min(started_at))::float8 AS seconds FROM job WHERE ${ofBench}`,
  )
  await client.end()
  worker.kill('SIGTERM')
  await new Promise((resolve) => worker.once('exit', resolve))
  return jobs / rows[0].seconds
}

async function deleteJobs({ url }) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query(`SELECT to_regclass('pgboss.job')::text AS queue`)
  if (rows[0].queue) await client.query('DELETE FROM pgboss.job')
  await client.query(`DELETE FROM job WHERE job_type LIKE 'bench\\_%'`)
  await client.query('VACUUM ANALYZE job')
  await client.end()
}
