import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { fusion, type RunningGateway, startGateway } from '../support/cli.ts'
import {
  adminUrl,
  databaseUrl,
  dropDatabase,
  hasServer,
  ownerUrl,
  run,
  runAsAdmin,
  runAsAdminOn,
} from '../support/postgresql.ts'

// What a role and a database must have, and what an operator reads if they do not.

let name: string
const deploy = (...args: string[]) => fusion(['migrate', 'deploy', ...args], { DATABASE_URL: ownerUrl(name) })
const owner = () => decodeURIComponent(new URL(ownerUrl(name)).username)

/** A new database whose role may only connect. */
beforeAll(() => {
  name = `fusion_test_roles_${process.pid}`
})
async function createBare(): Promise<void> {
  await dropDatabase(name)
  await runAsAdmin(`CREATE DATABASE ${name}`)
  await runAsAdminOn(name, 'REVOKE CREATE ON SCHEMA public FROM PUBLIC')
}
afterAll(async () => {
  if (hasServer) await dropDatabase(name)
})
const allowTables = () => runAsAdminOn(name, `GRANT USAGE, CREATE ON SCHEMA public TO "${owner()}"`)
const createExtensions = () => runAsAdminOn(name, 'CREATE EXTENSION pg_trgm; CREATE EXTENSION btree_gin')

describe.skipIf(!hasServer)('migrate deploy', () => {
  it('says what the role lacks, and needs no CREATE on a database that has the extensions', async () => {
    await createBare()
    expect(await deploy()).toEqual({
      code: 1,
      stdout: '',
      stderr: `The role ${owner()} may not create tables in the schema public. The owner of the database can allow it: GRANT USAGE, CREATE ON SCHEMA public TO "${owner()}"\n`,
    })
    await allowTables()
    expect((await deploy()).stderr).toBe(
      `The role ${owner()} may not create extensions in the database ${name}. An administrator can do it: CREATE EXTENSION pg_trgm; CREATE EXTENSION btree_gin;\n`,
    )
    await createExtensions()
    expect(await deploy()).toMatchObject({ code: 0, stderr: '' })
    expect(await deploy()).toMatchObject({ code: 0, stdout: 'Nothing to apply.\n' })
  })

  it('lets a statement take as long as it needs, though the database sets a timeout', async () => {
    await createBare()
    await allowTables()
    await createExtensions()
    await runAsAdmin(`ALTER DATABASE ${name} SET statement_timeout = '10min'`)
    // A trigger of the server, which the session of the migrations runs.
    await runAsAdminOn(
      name,
      `CREATE SCHEMA seen; GRANT USAGE ON SCHEMA seen TO PUBLIC;
       CREATE TABLE seen.settings (timeout text); GRANT INSERT ON seen.settings TO PUBLIC;
       CREATE FUNCTION seen.note() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
         INSERT INTO seen.settings VALUES (tg_tag || ': ' || current_setting('statement_timeout'));
       END $$;
       CREATE EVENT TRIGGER note ON ddl_command_end WHEN tag IN ('CREATE TABLE', 'CREATE INDEX')
         EXECUTE FUNCTION seen.note()`,
    )
    expect(await deploy()).toMatchObject({ code: 0, stderr: '' })
    const admin = new pg.Client({ connectionString: adminUrl(name) })
    await admin.connect()
    onTestFinished(() => admin.end())
    const { rows } = await admin.query({
      text: 'SELECT DISTINCT timeout FROM seen.settings ORDER BY 1',
      rowMode: 'array',
    })
    expect(rows.flat()).toEqual(['CREATE INDEX: 0', 'CREATE TABLE: 0'])
  })

  it('says that another program has filled the database', async () => {
    await createBare()
    await allowTables()
    await createExtensions()
    await runAsAdminOn(name, 'CREATE TABLE b (); CREATE TABLE a (); CREATE VIEW c AS SELECT 1; CREATE TABLE d ()')
    expect((await deploy()).stderr).toBe(
      `The database ${name} has tables of another program: a, b, c, …. Create a database for the gateway alone, and set DATABASE_URL to it.\n`,
    )
    await runAsAdminOn(
      name,
      `CREATE TABLE _prisma_migrations (id text, migration_name text, started_at timestamptz, finished_at timestamptz, rolled_back_at timestamptz);
       INSERT INTO _prisma_migrations VALUES ('1', '2020_init', now(), now()); GRANT SELECT ON _prisma_migrations TO PUBLIC`,
    )
    expect((await deploy()).stderr).toBe(
      'The database has migrations of another program, such as 2020_init. Create a database for the gateway alone, and set DATABASE_URL to it.\n',
    )
    await runAsAdminOn(name, 'ALTER TABLE _prisma_migrations DROP COLUMN migration_name')
    expect((await deploy()).stderr).toMatch(/^The database is not one of this version: [^\n]*migration_name[^\n]*\n$/)
  })

  it('says that the database accepts no writes', async () => {
    await createBare()
    await runAsAdmin(`ALTER DATABASE ${name} SET default_transaction_read_only = on`)
    expect((await deploy()).stderr).toBe(
      'The database accepts no writes: it is a standby, or default_transaction_read_only is on.\n',
    )
  })

  it.each([
    ['the gateway', 4_070_226],
    ['prisma migrate', 72_707_369],
  ])('gives up after --lock-timeout, and names the session that holds the lock of %s', async (_, lock) => {
    await createBare()
    await allowTables()
    await createExtensions()
    const other = new pg.Client({ connectionString: ownerUrl(name), application_name: 'another deployment' })
    await other.connect()
    onTestFinished(() => other.end())
    await other.query('SELECT pg_advisory_lock($1)', [lock])
    const [{ pid }] = (await other.query('SELECT pg_backend_pid() AS pid')).rows as [{ pid: number }]
    const { code, stderr } = await deploy('--lock-timeout', '1')
    expect(code).toBe(1)
    expect(stderr).toMatch(
      new RegExp(
        `^Another process has held the lock of migrations for 1 s: session ${pid} of the role ${owner()} \\(another deployment, [\\w.]+\\), ` +
          `connected since \\d{4}-[\\dT:-]+Z\\. Wait for it \\(--lock-timeout\\), or end it: SELECT pg_terminate_backend\\(${pid}\\)\\n$`,
      ),
    )
    await other.query('SELECT pg_advisory_unlock_all()')
    expect(await deploy('--lock-timeout', '1')).toMatchObject({ code: 0 })
  })
})

describe.skipIf(!hasServer)('/ready is not 200 while writes would fail', () => {
  let gateway: RunningGateway
  const role = () => decodeURIComponent(new URL(databaseUrl(name)).username)

  beforeAll(async () => {
    if (!hasServer) return
    await createBare()
    await allowTables()
    await createExtensions()
    const { stdout: grants } = await deploy('--grants', role())
    await run(ownerUrl(name), grants)
    await fusion(['tenants', 'create', 'Roles'], { DATABASE_URL: ownerUrl(name) })
    gateway = await startGateway({ DATABASE_URL: databaseUrl(name) })
  })
  afterAll(async () => void (await gateway?.stop('SIGTERM')))

  const status = async () => (await fetch(`${gateway.address}/ready`)).status
  const untilStatus = (wanted: number) => expect.poll(status).toBe(wanted)

  it.each([
    ['a privilege', 'REVOKE DELETE ON job FROM "{role}"', 'GRANT DELETE ON job TO "{role}"', 'may not DELETE job'],
    [
      'a function',
      'REVOKE EXECUTE ON FUNCTION event_horizon FROM PUBLIC, "{role}"',
      'GRANT EXECUTE ON FUNCTION event_horizon TO "{role}"',
      'may not call event_horizon',
    ],
    [
      'row-level security',
      'ALTER TABLE account ENABLE ROW LEVEL SECURITY',
      'CREATE POLICY everything ON account USING (true)',
      'row-level security hides rows of account',
    ],
  ])('%s', async (_, take, give, reason) => {
    const run = (script: string) => runAsAdminOn(name, script.replaceAll('{role}', role()))
    await untilStatus(200)
    await run(take)
    await untilStatus(503)
    await expect.poll(() => gateway.output()).toContain(reason)
    await run(give)
    await untilStatus(200)
  })

  it('objects of other programs, and privileges that the gateway does not use, do not matter', async () => {
    await untilStatus(200)
    await runAsAdminOn(
      name,
      `CREATE TABLE stranger (tenant_app_id text, id text, PRIMARY KEY (tenant_app_id, id)); CREATE TABLE stranger_parts (id text) PARTITION BY LIST (id);
       CREATE TABLE hidden (id text); ALTER TABLE hidden ENABLE ROW LEVEL SECURITY; GRANT ALL ON hidden TO PUBLIC;
       CREATE SEQUENCE stranger_number; CREATE FUNCTION search_fold(integer) RETURNS integer LANGUAGE sql AS 'SELECT 1';
       CREATE AGGREGATE stranger_sum (integer) (SFUNC = int4pl, STYPE = integer);
       REVOKE ALL ON FUNCTION search_fold(integer), stranger_sum(integer) FROM PUBLIC;
       REVOKE ALL ON SEQUENCE event_number, event_announced, event_truncations FROM PUBLIC, "${role()}";
       GRANT USAGE ON SEQUENCE event_number, event_truncations TO "${role()}"; GRANT USAGE, UPDATE ON SEQUENCE event_announced TO "${role()}";
       REVOKE INSERT, DELETE ON tenant_app, event_state FROM "${role()}"; REVOKE UPDATE ON event FROM "${role()}";
       REVOKE DELETE ON profile FROM "${role()}"; REVOKE EXECUTE ON FUNCTION write_events FROM PUBLIC, "${role()}"`,
    )
    // As `migrate distribute` creates it, whose user is a superuser.
    await runAsAdminOn(name, 'CREATE TABLE event_raise (id text); GRANT SELECT ON event_raise TO PUBLIC')
    await setTimeout(1_100)
    expect(await status()).toBe(200)
    // What the role has is enough.
    const created = await fusion(['keys', 'create', '--tenant', 'Roles'], { DATABASE_URL: ownerUrl(name) })
    const headers = { 'x-api-key': created.stdout.trim(), 'content-type': 'application/json' }
    const body = JSON.stringify({ name: 'Ada', email: 'ada@example.com', phone: '1' })
    expect((await fetch(`${gateway.address}/users`, { method: 'POST', headers, body })).status).toBe(201)
    // The owner of our tables could not grant privileges on them.
    const { stdout: grants } = await deploy('--grants', role())
    expect(grants).not.toContain('stranger')
    await run(ownerUrl(name), grants)
  })

  it('migrate partition leaves the tables of other programs as they are', async () => {
    await runAsAdmin(`GRANT CREATE ON DATABASE ${name} TO "${owner()}"`)
    await runAsAdminOn(name, 'DROP POLICY everything ON account; ALTER TABLE account DISABLE ROW LEVEL SECURITY')
    expect(await fusion(['migrate', 'partition', '--modulus', '2'], { DATABASE_URL: ownerUrl(name) })).toMatchObject({
      stderr: '',
      code: 0,
      stdout: expect.not.stringContaining('stranger'),
    })
    await setTimeout(1_100)
    expect(await status()).toBe(200)
  })

  it('a database that is read-only, which the start logs too', async () => {
    await runAsAdmin(`ALTER DATABASE ${name} SET default_transaction_read_only = on`)
    const other = await startGateway({ DATABASE_URL: databaseUrl(name) })
    onTestFinished(async () => void (await other.stop('SIGTERM')))
    expect((await fetch(`${other.address}/ready`)).status).toBe(503)
    await expect
      .poll(() => other.output())
      .toContain('requests will fail: transactions are read-only (default_transaction_read_only)')
    await runAsAdmin(`ALTER DATABASE ${name} RESET default_transaction_read_only`)
  })

  it('a setting that loses events or rows, and that only a superuser can change, which the start logs too', async () => {
    await runAsAdmin(`ALTER DATABASE ${name} SET session_replication_role = replica`)
    const other = await startGateway({ DATABASE_URL: databaseUrl(name) })
    onTestFinished(async () => void (await other.stop('SIGTERM')))
    expect((await fetch(`${other.address}/ready`)).status).toBe(503)
    await expect
      .poll(() => other.output())
      .toContain('requests will fail: session_replication_role is replica, so changes write no events')
    await runAsAdmin(`ALTER DATABASE ${name} RESET session_replication_role`)
  })
})
