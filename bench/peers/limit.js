// The limit: node:http and pg, with one hand-written statement per case. PostgreSQL writes the JSON.
import { hash, randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import pg from 'pg'
import { seeded } from '../seeded.js'

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10 })
const { tenant, userId, accountIds, jobId, small } = seeded

const timestamp = (column) => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
const emails = `(SELECT coalesce(json_agg(json_build_object('id', e.id, 'value', e.value, 'isPrimary', e.is_primary)
  ORDER BY e.created_at, e.id), '[]') FROM email_record e WHERE e.tenant_app_id = p.tenant_app_id AND e.profile_id = p.id)`
const profile = (fields) => `(SELECT json_build_object(${fields}) FROM profile p
  WHERE p.tenant_app_id = a.tenant_app_id AND p.account_id = a.id)`
const accounts = (more) => `(SELECT coalesce(json_agg(json_build_object('id', a.id, 'platform', a.platform,
  'displayName', a.display_name${more}) ORDER BY a.created_at, a.id), '[]') FROM account a
  WHERE a.tenant_app_id = u.tenant_app_id AND a.user_id = u.id)`
const users = (
  fields,
  first,
) => `SELECT json_agg(json_build_object(${fields}) ORDER BY u.created_at, u.id)::text AS json
  FROM (SELECT * FROM "user" WHERE tenant_app_id = $1 ORDER BY created_at, id LIMIT ${first}) u`
const full = profile(
  `'id', p.id, 'username', p.username, 'fullName', p.full_name, 'followersCount', p.followers_count, 'emails', ${emails}`,
)
const short = profile(`'id', p.id, 'username', p.username, 'followersCount', p.followers_count`)
const restProfile = `json_strip_nulls(json_build_object('id', p.id, 'user_platform', p.platform, 'username', p.username, 'url', p.url,
  'gender', p.gender, 'platform_account_id', p.platform_account_id, 'full_name', p.full_name, 'first_name', p.first_name,
  'last_name', p.last_name, 'nick_name', p.nick_name, 'display_name', p.display_name, 'description', p.description,
  'profile_picture_url', p.profile_picture_url, 'date_of_birth', to_char(p.date_of_birth, 'YYYY:MM:DD'), 'category', p.category,
  'website_url', p.website_url, 'country', p.country, 'emails', (SELECT json_agg(json_build_object('value', e.value, 'type', e.type,
  'is_verified', e.is_verified, 'is_primary', e.is_primary, 'id', e.id, 'created_at', ${timestamp('e.created_at')},
  'updated_at', ${timestamp('e.updated_at')}, 'profile_id', e.profile_id) ORDER BY e.created_at, e.id) FROM email_record e
  WHERE e.tenant_app_id = p.tenant_app_id AND e.profile_id = p.id), 'phone_numbers', p.phone_numbers, 'addresses', p.addresses,
  'followers_count', p.followers_count, 'following_count', p.following_count, 'subscribers_count', p.subscribers_count))`

const userById = `SELECT json_build_object('id', u.id, 'created_at', ${timestamp('u.created_at')}, 'updated_at', ${timestamp('u.updated_at')},
  'name', u.name, 'email', u.email, 'phone', u.phone, 'tenant_app_id', u.tenant_app_id, 'accounts',
  (SELECT json_agg(json_build_object('id', a.id, 'user_platform', a.platform, 'platform_account_id', a.platform_account_id,
  'display_name', a.display_name) ORDER BY a.created_at, a.id) FROM account a WHERE a.tenant_app_id = u.tenant_app_id
  AND a.user_id = u.id))::text AS json FROM "user" u WHERE tenant_app_id = $1 AND id = $2`

/** The statements by path, with their values. The rest of the path, if any, is a further value. */
const statements = {
  '/a': [
    users(`'id', u.id, 'name', u.name, 'email', u.email, 'accounts', ${accounts(`, 'profile', ${full}`)}`, 20),
    [tenant],
  ],
  '/b': [
    `SELECT json_build_object('id', u.id, 'name', u.name, 'email', u.email, 'accounts', ${accounts('')})::text AS json
     FROM "user" u WHERE tenant_app_id = $1 AND id = $2`,
    [tenant, userId],
  ],
  '/c': [
    users(
      `'id', u.id, 'name', u.name, 'email', u.email, 'phone', u.phone, 'createdAt', ${timestamp('u.created_at')}`,
      100,
    ),
    [tenant],
  ],
  '/d': [users(`'id', u.id, 'name', u.name, 'accounts', ${accounts(`, 'profile', ${short}`)}`, 500), [tenant]],
  '/e': [
    `SELECT json_agg(json_build_object('id', p.id, 'username', p.username, 'fullName', p.full_name, 'followersCount',
     p.followers_count) ORDER BY array_position($2::text[], p.account_id))::text AS json
     FROM profile p WHERE tenant_app_id = $1 AND account_id = ANY($2)`,
    [tenant, accountIds],
  ],
  '/f': [
    `SELECT json_build_object('id', id, 'status', status, 'jobType', job_type, 'payload', payload, 'result', result,
     'attempts', attempts)::text AS json FROM job WHERE tenant_app_id = $1 AND id = $2`,
    [tenant, jobId],
  ],
  // The way back leads to rows that the statement has.
  '/m': [
    `SELECT json_build_object('id', u.id, 'accounts', (SELECT coalesce(json_agg(json_build_object('id', a.id, 'profile',
     (SELECT json_build_object('id', p.id, 'emails', (SELECT coalesce(json_agg(json_build_object('id', e.id, 'profile',
     json_build_object('id', p.id, 'account', json_build_object('id', a.id, 'user', json_build_object('id', u.id, 'name', u.name))))
     ORDER BY e.created_at, e.id), '[]') FROM email_record e WHERE e.tenant_app_id = p.tenant_app_id AND e.profile_id = p.id))
     FROM profile p WHERE p.tenant_app_id = a.tenant_app_id AND p.account_id = a.id)) ORDER BY a.created_at, a.id), '[]')
     FROM account a WHERE a.tenant_app_id = u.tenant_app_id AND a.user_id = u.id))::text AS json
     FROM "user" u WHERE tenant_app_id = $1 AND id = $2`,
    [tenant, userId],
  ],
  '/h': [userById, [tenant, userId]],
  '/t': [userById, [tenant, userId]],
  '/q': [
    `SELECT json_build_object('id', u.id, 'name', u.name, 'email', u.email, 'accounts', ${accounts(`, 'profile', ${full}`)})::text
     AS json FROM "user" u WHERE tenant_app_id = $1 AND id = $2`,
    [tenant],
  ],
  '/rename': [
    `UPDATE "user" SET name = 'Name ' || gen_random_uuid(), updated_at = now() WHERE tenant_app_id = $1 AND id = $2
     RETURNING json_build_object('id', id, 'name', name)::text AS json`,
    [tenant],
  ],
  '/i': [
    `SELECT json_build_object('profiles', json_agg(${restProfile} ORDER BY array_position($2::text[], p.account_id)))::text AS json
     FROM profile p WHERE tenant_app_id = $1 AND account_id = ANY($2)`,
    [tenant, accountIds.slice(0, 50)],
  ],
  '/g': [
    `INSERT INTO "user" (tenant_app_id, id, name, email, phone, updated_at)
     VALUES ($1, $2, 'Made', 'made@example.com', '+1 555 0100', now())
     RETURNING json_build_object('id', id, 'name', name, 'email', email)::text AS json`,
    [small],
  ],
}

createServer(async ({ url, headers }, response) => {
  const [, name, id] = /^(\/\w+)\/?(.*)$/.exec(url)
  const [text, ownValues] = statements[name]
  const last = name === '/g' ? `usr_${randomUUID()}` : id
  const { rows } = await pool.query({ name, text, values: last === '' ? ownValues : [...ownValues, last] })
  const [{ json }] = rows
  response.setHeader('content-type', 'application/json')
  if (name === '/t') {
    const tag = `"${hash('sha256', json, 'base64url')}"`
    response.setHeader('etag', tag)
    if (headers['if-none-match'] === tag) return response.writeHead(304).end()
  }
  response.end(json)
}).listen(Number(process.env.PORT), '127.0.0.1', () => process.stdout.write('ready\n'))
