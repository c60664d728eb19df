import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { createAccessTokens, createSigningKeys } from '@fusion-gateway/auth'
import pg from 'pg'
import { openDatabase } from '../../src/database.ts'
import { createKey } from '../../src/domain/credential/key.service.ts'
import { scopes, userScopes } from '../../src/domain/scopes.ts'
import { createTenant } from '../../src/domain/tenant/tenant.service.ts'
import { type RunningGateway, startGateway } from '../support/cli.ts'
import type { Cluster } from '../support/cluster.ts'
import { prepare } from '../support/gateway.ts'
import { locationOf, settings } from '../support/settings.ts'
import { type Attack, attackWith, type Credential } from './attacks.ts'
import type { Asked, Seen } from './victim.ts'

/** Two tenants: one attacks, the other one wants to read a user. */
export interface Neighbours {
  /** Credentials of one tenant: keys, tokens of the tenant, and tokens of users. */
  readonly attackers: readonly Credential[]
  /** Those of users among them. */
  readonly users: readonly Credential[]
  /** A further key of the tenant that attacks, of its own server. */
  readonly server: string
  readonly victim: string
}

type NewKey = Awaited<ReturnType<typeof createKey>>

/** What the other tenant's clients and the probe of `/health` saw during an attack, and the memory of the gateway. */
export interface Damage {
  /** A client whose requests the gateway must read. */
  readonly victim: Seen
  /** A client that repeats requests, so that the gateway has kept the responses before the attack. */
  readonly kept: Seen
  readonly health: Seen
  /** The most resident memory so far, in MiB. */
  readonly memory: number
}

/** Fills an empty database with two tenants. The attacker's has 100,000 users with accounts and profiles, and jobs. */
export async function createNeighbours(cluster: Pick<Cluster, 'url' | 'ownerUrl' | 'adminUrl'>): Promise<Neighbours> {
  const { tenantAppId } = await prepare(cluster)
  const database = await openDatabase(locationOf(cluster.url))
  const other = await createTenant(database, 'Victim')
  const { key: victim } = await createKey(database, { tenantAppId: other.id, name: 'victim' })
  const keys = await Promise.all(['a', 'b', 'c', 'server'].map((name) => createKey(database, { tenantAppId, name })))
  const [first, second, third, server] = keys as [NewKey, NewKey, NewKey, NewKey]
  const tokens = createAccessTokens(createSigningKeys(database), settings.tokenIssuer)
  const tokenOf = async ({ row }: NewKey, userId?: string): Promise<Credential> => {
    const expiresAt = new Date(Date.now() + 3_600_000)
    const token = { tenantAppId, keyId: row.id, userId, scopes: userId === undefined ? scopes : userScopes, expiresAt }
    return { authorization: `Bearer ${await tokens.sign(token)}` }
  }
  const users = await Promise.all(['usr_1', 'usr_2', 'usr_3', 'usr_4'].map((id) => tokenOf(server, id)))
  const attackers = [
    ...[first, second, third].map(({ key }) => ({ 'x-api-key': key })),
    await tokenOf(second),
    ...users,
  ]
  await database.close()
  // The rows refer to each other. Without checks of foreign keys, sessions can insert them at the same time.
  await Promise.all(
    rowsOf(tenantAppId, other.id).map((script) =>
      runScript(cluster.adminUrl, `SET session_replication_role = replica; ${script}`),
    ),
  )
  await runScript(cluster.adminUrl, 'ANALYZE')
  return { attackers, users, server: server.key, victim }
}

async function runScript(url: string, script: string): Promise<void> {
  const session = new pg.Client({ connectionString: url })
  await session.connect()
  await session.query(script)
  await session.end()
}

/** How many users the other tenant has. A client repeats the requests for their trees. */
const keptUsers = 20

/** Returns scripts that can run at the same time. */
function rowsOf(attacker: string, victim: string): string[] {
  const times = 'now(), now() FROM generate_series(1, 100000) AS number'
  return [
    `INSERT INTO "user" (tenant_app_id, id, name, email, created_at, updated_at)
    SELECT '${attacker}', 'usr_' || number, 'Name ' || number, number || '@example.com', ${times}`,
    `INSERT INTO account (tenant_app_id, id, user_id, platform, platform_account_id, display_name, created_at, updated_at)
    SELECT '${attacker}', 'acc_' || number, 'usr_' || (number % 5000 + 1), 'YOUTUBE', number::text, 'Name', ${times}`,
    `INSERT INTO profile (tenant_app_id, id, account_id, platform, platform_account_id, created_at, updated_at)
    SELECT '${attacker}', 'prf_' || number, 'acc_' || number, 'YOUTUBE', number::text, ${times};
    INSERT INTO job (tenant_app_id, id, job_type, status, payload, result, max_attempts, run_at, updated_at)
    VALUES ('${attacker}', 'job_1', 'x', 'SUCCEEDED', json_build_object('text', repeat('x', 64000)),
      json_build_object('text', repeat('y', 250000)), 3, now(), now()),
      ('${attacker}', 'job_2', 'x', 'CANCELLED', NULL, NULL, 3, now(), now());
    INSERT INTO job (tenant_app_id, id, job_type, status, payload, result, max_attempts, run_at, updated_at)
    SELECT '${attacker}', 'job_long_' || number, 'x', 'SUCCEEDED', long.payload, long.result, 3, now(), now()
    FROM generate_series(1, 300) AS number, (SELECT payload, result FROM job WHERE id = 'job_1') AS long;
    INSERT INTO "user" (tenant_app_id, id, name, email, created_at, updated_at)
    SELECT '${victim}', 'usr_' || number, 'Victim', 'victim@example.com', now(), now()
    FROM generate_series(1, ${keptUsers}) AS number;
    INSERT INTO account (tenant_app_id, id, user_id, platform, platform_account_id, display_name, created_at, updated_at)
    SELECT '${victim}', 'acc_' || number, 'usr_' || number, 'YOUTUBE', number::text, 'Name', now(), now()
    FROM generate_series(1, ${keptUsers}) AS number`,
  ]
}

/**
 * Starts a gateway with the limits that it has by default.
 *
 * @param env further variables
 */
export function startAttacked(url: string, env: Record<string, string> = {}): Promise<RunningGateway> {
  return startGateway({ DATABASE_URL: url, GRAPHIQL: 'on', BATCHING: 'on', ...env })
}

/** Attacks a gateway with each credential at the same time, for some seconds, and observes what others see of it. */
export async function observeAttack(
  { address, child }: RunningGateway,
  { attackers, victim }: Pick<Neighbours, 'attackers' | 'victim'>,
  attack: Attack,
  seconds: number,
): Promise<Damage> {
  const headers = { 'x-api-key': victim }
  const clients = await Promise.all([
    startClient({ urls: [`${address}/users/usr_1`], headers: { ...headers, 'cache-control': 'no-cache' } }),
    // The gateway keeps a response that is asked for the second time.
    startClient({ urls: treesOf(address), headers, beforehand: 2 }),
    startClient({ urls: [`${address}/health`], headers: {} }),
  ])
  const controller = new AbortController()
  const attacking = attackWith(attackers, attack, { address }, controller.signal)
  const observe = (client: Worker) => observeFor(client, seconds)
  const [seenByVictim, kept, health] = (await Promise.all(clients.map(observe))) as [Seen, Seen, Seen]
  controller.abort()
  await attacking
  return { victim: seenByVictim, kept, health, memory: peakMemory(child) }
}

/** The URLs of the trees of the other tenant's users. */
function treesOf(address: string): string[] {
  const query = 'query ($id: ID!) { user(id: $id) { id name accounts { id displayName profile { id username } } } }'
  return Array.from({ length: keptUsers }, (_, index) => {
    const variables = JSON.stringify({ id: `usr_${index + 1}` })
    return `${address}/graphql?${new URLSearchParams({ query, variables })}`
  })
}

/** Starts a client, which waits for its first message. */
async function startClient(workerData: Asked): Promise<Worker> {
  const client = new Worker(new URL('./victim.ts', import.meta.url), { workerData })
  await once(client, 'message')
  return client
}

async function observeFor(client: Worker, seconds: number): Promise<Seen> {
  client.postMessage('start')
  setTimeout(() => client.postMessage('stop'), seconds * 1_000)
  const [seen] = await once(client, 'message')
  return seen
}

/** Reads the most resident memory that a running process has had so far, in MiB. */
export function peakMemory({ pid }: ChildProcess): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1_024)
}
