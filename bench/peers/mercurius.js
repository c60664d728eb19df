// Mercurius with its compiler and loaders over pg. Each loader sends one statement for all its keys. With ALIKE=on it
// does before an operation what the gateway does.
import { randomUUID } from 'node:crypto'
import Fastify from 'fastify'
import mercurius from 'mercurius'
import pg from 'pg'
import { seeded } from '../seeded.js'
import { createFront } from './front.js'

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10 })
const { tenant, small } = seeded

const schema = `
  type Query { user(id: ID!): User users(first: Int!): [User!]! profiles(accountIds: [ID!]!): [Profile!]! job(id: ID!): Job }
  input UserInput { name: String! email: String! phone: String! }
  type Mutation { createUser(input: UserInput!): User! updateUser(id: ID!, name: String!): User }
  type User { id: ID! name: String! email: String! phone: String createdAt: String! accounts: [Account!]! }
  type Account { id: ID! platform: String! displayName: String! user: User! profile: Profile }
  type Profile { id: ID! username: String fullName: String followersCount: Float account: Account! emails: [Email!]! }
  type Email { id: ID! value: String! isPrimary: Boolean! profile: Profile! }
  scalar JSON
  type Job { id: ID! status: String! jobType: String payload: JSON result: JSON attempts: Int! }`

const columns = 'id, name, email, phone, created_at AS "createdAt"'
const profileColumns =
  'id, account_id AS "accountId", username, full_name AS "fullName", followers_count::float8 AS "followersCount"'

const accountColumns = 'id, user_id AS "userId", platform, display_name AS "displayName"'

async function rowsOf(name, text, values) {
  return (await pool.query({ name, text, values })).rows
}

function grouped(rows, key, ids) {
  const groups = new Map(ids.map((id) => [id, []]))
  for (const row of rows) groups.get(row[key])?.push(row)
  return ids.map((id) => groups.get(id) ?? [])
}

function byId(rows, ids) {
  const found = new Map(rows.map((row) => [row.id, row]))
  return ids.map((id) => found.get(id) ?? null)
}

const shown = (user) => user && { ...user, createdAt: user.createdAt.toISOString() }

const resolvers = {
  Query: {
    async users(_, { first }) {
      const text = `SELECT ${columns} FROM "user" WHERE tenant_app_id = $1 ORDER BY created_at, id LIMIT $2`
      return (await rowsOf('users', text, [tenant, first])).map(shown)
    },
    async user(_, { id }) {
      const text = `SELECT ${columns} FROM "user" WHERE tenant_app_id = $1 AND id = $2`
      return shown((await rowsOf('user', text, [tenant, id]))[0])
    },
    async profiles(_, { accountIds }) {
      const text = `SELECT ${profileColumns} FROM profile WHERE tenant_app_id = $1 AND account_id = ANY($2)`
      return grouped(await rowsOf('profiles', text, [tenant, accountIds]), 'accountId', accountIds).flat()
    },
    async job(_, { id }) {
      const text = `SELECT id, status, job_type AS "jobType", payload, result, attempts FROM job WHERE tenant_app_id = $1 AND id = $2`
      return (await rowsOf('job', text, [tenant, id]))[0]
    },
  },
  Mutation: {
    async createUser(_, { input: { name, email, phone } }) {
      const text = `INSERT INTO "user" (tenant_app_id, id, name, email, phone, updated_at) VALUES ($1, $2, $3, $4, $5, now()) RETURNING ${columns}`
      return shown((await rowsOf('create', text, [small, `usr_${randomUUID()}`, name, email, phone]))[0])
    },
    async updateUser(_, { id, name }) {
      const text = `UPDATE "user" SET name = $3, updated_at = now() WHERE tenant_app_id = $1 AND id = $2 RETURNING ${columns}`
      return shown((await rowsOf('update', text, [tenant, id, name]))[0])
    },
  },
}

const loaders = {
  User: {
    async accounts(queries) {
      const ids = queries.map(({ obj }) => obj.id)
      const text = `SELECT ${accountColumns} FROM account WHERE tenant_app_id = $1 AND user_id = ANY($2) ORDER BY created_at, id`
      return grouped(await rowsOf('accounts', text, [tenant, ids]), 'userId', ids)
    },
  },
  Account: {
    async user(queries) {
      const ids = queries.map(({ obj }) => obj.userId)
      const text = `SELECT ${columns} FROM "user" WHERE tenant_app_id = $1 AND id = ANY($2)`
      return byId(await rowsOf('users by id', text, [tenant, ids]), ids).map(shown)
    },
    async profile(queries) {
      const ids = queries.map(({ obj }) => obj.id)
      const text = `SELECT ${profileColumns} FROM profile WHERE tenant_app_id = $1 AND account_id = ANY($2)`
      return grouped(await rowsOf('profile', text, [tenant, ids]), 'accountId', ids).map(([profile]) => profile ?? null)
    },
  },
  Email: {
    async profile(queries) {
      const ids = queries.map(({ obj }) => obj.profileId)
      const text = `SELECT ${profileColumns} FROM profile WHERE tenant_app_id = $1 AND id = ANY($2)`
      return byId(await rowsOf('profiles by id', text, [tenant, ids]), ids)
    },
  },
  Profile: {
    async account(queries) {
      const ids = queries.map(({ obj }) => obj.accountId)
      const text = `SELECT ${accountColumns} FROM account WHERE tenant_app_id = $1 AND id = ANY($2)`
      return byId(await rowsOf('accounts by id', text, [tenant, ids]), ids)
    },
    async emails(queries) {
      const ids = queries.map(({ obj }) => obj.id)
      const text = `SELECT id, profile_id AS "profileId", value, is_primary AS "isPrimary" FROM email_record WHERE tenant_app_id = $1 AND profile_id = ANY($2) ORDER BY created_at, id`
      return grouped(await rowsOf('emails', text, [tenant, ids]), 'profileId', ids)
    },
  },
}

const app = process.env.ALIKE === 'on' ? await createFront(pool) : Fastify()
await app.register(mercurius, { schema, resolvers, loaders, jit: 1 })
await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) })
process.stdout.write('ready\n')
