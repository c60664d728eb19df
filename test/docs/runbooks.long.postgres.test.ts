import { execFile } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type RunningGateway, startGateway } from '../support/cli.ts'
import { type Cluster, canCreateClusters, createCluster, freePort } from '../support/cluster.ts'
import { readBlocks } from '../support/docs.ts'
import { prepare } from '../support/gateway.ts'
import { isRedisRunning, redisPort } from '../support/redis.ts'
import { rules } from './monitoring.ts'

/** The first command of each runbook that has one. */
const commands = new Map(
  rules.flatMap(({ alert }) => {
    const [block] = readBlocks('docs/runbooks.md', alert).filter(({ language }) => language === 'sh')
    return block ? [[alert, block.code.split('\n')[0] ?? '']] : []
  }),
)

/** What each shows, of what the test has caused. */
const shows: Readonly<Record<string, RegExp>> = {
  FusionGatewayDown: /"ok".*"ready"/,
  FusionErrors: /status="500"\} 1/,
  FusionFieldErrors: /"level":50.*column/,
  FusionShedding: /^fusion_http_requests_shed_total\{reason="in_flight"\} 0$/m,
  FusionConnectionsExhausted: /max_connections[\s\S]*300[\s\S]*count/,
  FusionDatabaseSlow: /owner of tables +\| fusion-owner +\| \{\}[\s\S]*a waiter +\| fusion-owner +\| \{\d+\}/,
  FusionReplicaUnusable: /pg_is_in_recovery[\s\S]*\n t +\| [\dA-F]+\/[\dA-F]+ +\| [\dA-F]+\/[\dA-F]+/,
  FusionRedisDown: /^PONG$/m,
  FusionEventsStalled: /fusion-owner +\| owner of tables/,
  FusionJobsWaiting: /nobody +\| +1 /,
  FusionNumbersOld: /PENDING +\| +1\n[\s\S]*Time: /,
  FusionJobsFailing: /fails +\| BROKEN +\| +1 /,
  FusionWebhooksFailing: /https:\/\/example.com\/hook +\| t /,
  FusionLogDropped: /Avail[\s\S]*IFree/,
}

/** Those that are not run here. */
const elsewhere: Readonly<Record<string, string>> = {
  FusionNodeUnusable: 'needs Citus: test/distributed/measure-nodes',
  FusionSchemaIncomplete: 'a database that lacks nothing is needed by the others: test/db/missing',
  ...(!isRedisRunning && { FusionRedisDown: 'needs Redis' }),
}

it('each first command is run here, or there is a reason', () => {
  expect([...commands.keys()].toSorted()).toEqual(
    [...new Set([...Object.keys(shows), ...Object.keys(elsewhere)])].toSorted(),
  )
})

describe.skipIf(!canCreateClusters)(
  'the first command of each runbook shows the cause to the role of the gateway',
  () => {
    let cluster: Cluster
    let replica: Cluster
    let gateway: RunningGateway
    let folder: string
    let env: NodeJS.ProcessEnv
    const sessions: pg.Client[] = []

    async function connect(connectionString: string, application_name: string): Promise<pg.Client> {
      const session = new pg.Client({ connectionString, application_name })
      // The server is removed before they have ended.
      session.on('error', () => undefined)
      await session.connect()
      sessions.push(session)
      return session
    }

    beforeAll(async () => {
      if (!canCreateClusters) return
      cluster = await createCluster()
      const { key } = await prepare(cluster)
      const metricsPort = await freePort()
      const secrets = { SECRET_KEYS: Buffer.alloc(32, 1).toString('base64') }
      gateway = await startGateway({ DATABASE_URL: cluster.url, METRICS_PORT: String(metricsPort), ...secrets })
      const headers = { 'x-api-key': key, 'content-type': 'application/json' }
      const mutation =
        'mutation { createWebhook(input: { url: "https://example.com/hook", eventTypes: [USER_CREATED] }) { webhook { id } } }'
      await fetch(`${gateway.address}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query: mutation }) })

      const admin = await connect(cluster.adminUrl, 'administrator')
      await admin.query(`
      UPDATE tenant_app SET name = 'Acme';
      INSERT INTO job (tenant_app_id, id, status, job_type, error, max_attempts, run_at, updated_at)
      SELECT tenant_app.id, 'job_' || type, status::job_status, type, error::json, 1, now() - interval '1 minute', now()
      FROM tenant_app, (VALUES ('nobody', 'PENDING', NULL), ('fails', 'FAILED', '{"code":"BROKEN"}')) AS made (type, status, error);
      ALTER TABLE "user" RENAME COLUMN phone TO number`)
      expect((await fetch(`${gateway.address}/users`, { headers })).status).toBe(500)
      await admin.query('ALTER TABLE "user" RENAME COLUMN number TO phone')
      replica = await cluster.createReplica()

      // A transaction that has written and stays open, and a statement that waits for it.
      const owner = await connect(cluster.ownerUrl, 'owner of tables')
      await owner.query('BEGIN')
      await owner.query('CREATE TABLE unfinished ()')
      await owner.query('LOCK TABLE webhook_delivery')
      const waiter = await connect(cluster.ownerUrl, 'a waiter')
      waiter.query('SELECT FROM webhook_delivery').catch(() => undefined)
      const waiting = async () =>
        (
          await admin.query(
            `SELECT FROM pg_stat_activity WHERE application_name = 'a waiter' AND wait_event_type = 'Lock'`,
          )
        ).rowCount
      await vi.waitUntil(async () => (await waiting()) === 1, { timeout: 30_000 })

      folder = mkdtempSync(path.join(tmpdir(), 'fusion-runbooks-'))
      writeFileSync(path.join(folder, 'log'), gateway.output())
      // The log of the gateway, wherever it is collected.
      writeFileSync(path.join(folder, 'kubectl'), `#!/bin/sh\ncat '${folder}/log'\n`)
      chmodSync(path.join(folder, 'kubectl'), 0o755)
      env = {
        ...process.env,
        PATH: `${folder}:${process.env['PATH']}`,
        GATEWAY: gateway.address,
        METRICS: `http://127.0.0.1:${metricsPort}`,
        DATABASE_URL: cluster.url,
        REPLICA_URL: replica.url,
        REDIS_URL: `redis://127.0.0.1:${redisPort}`,
      }
    })
    afterAll(async () => {
      for (const session of sessions) await session.end().catch(() => undefined)
      await gateway?.stop('SIGKILL')
      await replica?.remove()
      await cluster?.remove()
      if (folder) rmSync(folder, { recursive: true })
    })

    it.each(Object.keys(shows).filter((alert) => !(alert in elsewhere)))('%s', async (alert) => {
      const { stdout, stderr } = await promisify(execFile)('sh', ['-c', commands.get(alert) ?? ''], { env })
      expect(stderr).toBe('')
      expect(stdout).toMatch(shows[alert] as RegExp)
    })
  },
)
