import type pg from 'pg'

/** The number of the only user whose name has the text `Zyxwvut`. */
export const rareUser = (users: number): number => Math.floor(users / 2)

/**
 * Creates the users of a tenant, `usr_1` and so on, as a superuser. The table has no other users.
 *
 * Without the triggers, which would write an event for each. Indexes are created again, which takes a fraction of
 * adding each row to them.
 */
export async function createManyUsers(session: pg.Client, tenantAppId: string, users: number): Promise<void> {
  const { rows: indexes } = await session.query<{ name: string; definition: string }>(
    `SELECT indexname AS name, indexdef AS definition FROM pg_indexes WHERE schemaname = 'public' AND tablename = 'user' AND indexname <> 'user_pkey'`,
  )
  await session.query(`SET session_replication_role = replica; SET maintenance_work_mem = '1GB'`)
  for (const { name } of indexes) await session.query(`DROP INDEX "${name}"`)
  await session.query(`
    INSERT INTO "user" (tenant_app_id, id, name, email, created_at, updated_at)
    SELECT '${tenantAppId}', 'usr_' || number,
      (ARRAY['Ada', 'Grace', 'Alan', 'Edsger'])[1 + number % 4] || ' ' || translate(md5(number::text), '0123456789', 'ghijklmnop') ||
        CASE number WHEN ${rareUser(users)} THEN ' Zyxwvut' ELSE '' END,
      'person' || number || '@example.com', to_timestamp(number), to_timestamp(number)
    FROM generate_series(1, ${users}) AS number`)
  for (const { definition } of indexes) await session.query(definition)
}
