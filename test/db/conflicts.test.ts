import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { fusion } from '../support/cli.ts'
import { createOneOfEach } from '../support/factories.ts'
import { jobClient, present } from '../support/jobs.ts'
import { type Field, fieldsOf, operationOf, type SampleIds } from '../support/operations.ts'
import { hasServer, isDistributed, runAsAdminOn } from '../support/postgresql.ts'

const tables = ['"user"', 'account', 'profile', 'email_record', 'job']

let app: TestApp
let tenant: TestTenant
let ids: SampleIds

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  const { user, account, job } = await createOneOfEach(app, tenant)
  ids = { userId: user.id, accountId: account.id, jobId: job.id }
  await onEach('CREATE SEQUENCE tries')
  await onEach('GRANT SELECT ON tries TO PUBLIC')
  await letFirstTriesConflict(0)
  for (const table of tables) {
    await run(`CREATE TRIGGER conflict BEFORE INSERT OR UPDATE OR DELETE ON ${table} EXECUTE FUNCTION conflict()`)
  }
})
afterAll(() => app.close())

const run = (sql: string) =>
  isDistributed ? runAsAdminOn(new URL(String(app.database.url)).pathname.slice(1), sql) : app.database.runAsOwner(sql)

/** Runs a statement on each server of the database: the triggers of a tenant count on the one that has its rows. */
const onEach = (sql: string) => run(isDistributed ? `SELECT run_command_on_all_nodes('${sql}')` : sql)

/** A rollback does not change a sequence, so the sequence counts the writes of every try. */
const letFirstTriesConflict = (count: number) =>
  letTriesConflict(Array.from({ length: count }, (_, index) => index + 1))

async function letTriesConflict(numbers: readonly number[]): Promise<void> {
  await run(`
    CREATE OR REPLACE FUNCTION conflict() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
    BEGIN
      IF nextval('tries') IN (${numbers.join(', ') || 0}) THEN RAISE EXCEPTION 'conflict' USING ERRCODE = 'serialization_failure'; END IF;
      RETURN NULL;
    END $$`)
  await onEach('ALTER SEQUENCE tries RESTART')
}

async function countTries(): Promise<number> {
  if (isDistributed) {
    const counts = await app.database.prisma.$queryRaw<{ result: string }[]>`
      SELECT result FROM run_command_on_all_nodes('SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM tries')`
    return counts.reduce((sum, { result }) => sum + Number(result), 0)
  }
  const [row] = await app.database.prisma.$queryRaw<{ last: number; used: boolean }[]>`
    SELECT last_value::int AS last, is_called AS used FROM tries`
  return row?.used ? row.last : 0
}

async function countErrors(): Promise<number> {
  const { values } = await app.services.metrics.graphqlErrors.get()
  return values.reduce((sum, { value }) => sum + value, 0)
}

let requests = 0

async function send(field: Field, hasKey: boolean) {
  const { query, variables } = operationOf('mutation', field, ids)
  const id = /Job/.test(field.name) ? ids.jobId : /Account/.test(field.name) ? ids.accountId : ids.userId
  const inputOf = (input: object) => ({ ...input, ...('id' in input && { id }) })
  const { input, inputs } = variables as { readonly input: object; readonly inputs?: readonly object[] }
  requests += 1
  const response = await app.app.inject({
    method: 'POST',
    url: '/graphql',
    headers: { 'x-api-key': tenant.key, ...(hasKey && { 'idempotency-key': `request-${requests}` }) },
    payload: { query, variables: inputs ? { inputs: inputs.map(inputOf) } : { input: inputOf(input) } },
  })
  return response.json()
}

describe('work that runs again after a conflict', () => {
  it('claims as many jobs as an operation may', async () => {
    await letFirstTriesConflict(2)
    const input = { jobTypes: ['none'], limit: 100 }
    const claim =
      'mutation ($input: ClaimJobsInput!) { claimJobs(input: $input) { leases { leaseToken } userErrors { message } } }'
    const { data } = await app.graphql(tenant, claim, { input })
    expect(data).toEqual({ claimJobs: { leases: [], userErrors: [] } })
    expect(await countTries()).toBe(3)
  })

  it('counts the end of an attempt once', async () => {
    await letFirstTriesConflict(0)
    const job = jobClient(app, tenant)
    await job('createJob', { jobType: 'counted' })
    const { leases } = await job('claimJobs', { jobTypes: ['counted'] })
    const { leaseToken, job: claimed } = present(leases?.[0])
    const countEnds = async () => {
      const { values } = await app.services.metrics.jobAttempts.get()
      return values.find(({ labels }) => labels['outcome'] === 'succeeded')?.value ?? 0
    }
    const before = await countEnds()
    const input = { jobType: 'next' }
    const [query, variables] = [
      `mutation ($id: ID!, $leaseToken: String!, $input: CreateJobInput!) {
        completeJob(input: { id: $id, leaseToken: $leaseToken }) { job { status } }
        createJob(input: $input) { job { status } }
      }`,
      { id: claimed.id, leaseToken, input },
    ]
    // The first mutation succeeds in each of the three tries, and the second one in the last.
    await letTriesConflict([2, 4])
    const headers = { 'x-api-key': tenant.key, 'idempotency-key': 'counted' }
    const response = await app.app.inject({ method: 'POST', url: '/graphql', headers, payload: { query, variables } })
    expect(response.json().data).toEqual({
      completeJob: { job: { status: 'SUCCEEDED' } },
      createJob: { job: { status: 'PENDING' } },
    })
    expect(await countTries()).toBe(6)
    expect((await countEnds()) - before).toBe(1)
  })

  // The role of the embedded database passes by policies, and Citus has none.
  it.runIf(hasServer && !isDistributed)('is not an export, which has written what it has read before', async () => {
    const { runAsOwner, url } = app.database
    await runAsOwner(`
      CREATE FUNCTION conflict_of(tenant text) RETURNS boolean LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION 'conflict' USING ERRCODE = 'serialization_failure'; END $$;
      ALTER TABLE job ENABLE ROW LEVEL SECURITY;
      CREATE POLICY conflict ON job USING (conflict_of(tenant_app_id));`)
    onTestFinished(() => runAsOwner('ALTER TABLE job DISABLE ROW LEVEL SECURITY'))
    const { code, stdout, stderr } = await fusion(['export', '--tenant', tenant.name], { DATABASE_URL: String(url) })
    expect([code, stderr]).toEqual([1, expect.stringContaining('The database refused: conflict\n')])
    const records = stdout.trimEnd().split('\n')
    expect(records.length).toBeGreaterThan(0)
    expect(new Set(records).size).toBe(records.length)
  })
})

describe.each([
  ['without an idempotency key', false],
  ['with an idempotency key', true],
])('a mutation that conflicts with another transaction, %s', (_, hasKey) => {
  // A retry, an update or a filter of these rows writes nothing, and the tables of keys, to which requests write, and
  // of webhooks have no trigger.
  const mutations = fieldsOf('Mutation').filter(
    ({ name }) => !/^(retry|update|redeliver|cancelJobs)|Token$|ApiKey$|Webhook/.test(name),
  )

  it.each(mutations.map((field) => [field.name, field] as const))(
    'runs three times and then fails with SERVICE_UNAVAILABLE: %s',
    async (_name, field) => {
      await letFirstTriesConflict(100)
      const [errors, lines] = [await countErrors(), app.log.length]
      expect(await send(field, hasKey)).toMatchObject({ errors: [{ extensions: { code: 'SERVICE_UNAVAILABLE' } }] })
      expect(await countTries()).toBe(3)
      // With an idempotency key the whole request fails, and the metrics count it by its status.
      expect((await countErrors()) - errors).toBe(hasKey ? 0 : 1)
      expect(app.log.slice(lines).filter(({ level }) => Number(level) >= 50)).toHaveLength(1)
    },
  )

  it('succeeds if the third try succeeds; metrics and logs contain no error of the first two', async () => {
    await letFirstTriesConflict(2)
    const [errors, lines] = [await countErrors(), app.log.length]
    const createUser = fieldsOf('Mutation').find(({ name }) => name === 'createUser') as Field
    const response = await send(createUser, hasKey)
    expect(response.errors).toBeUndefined()
    expect(response.data.createUser.userErrors).toEqual([])
    expect(await countTries()).toBe(3)
    expect(await countErrors()).toBe(errors)
    expect(app.log.slice(lines).filter(({ level }) => Number(level) >= 50)).toEqual([])
  })
})
