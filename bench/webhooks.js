// Measures deliveries to webhooks: events of one tenant to twenty endpoints, of which six are bad, by one worker.
import { createServer } from 'node:http'
import { createKeyRing } from '@fusion-gateway/auth'
import { deployMigrations } from '@fusion-gateway/migrate'
import { openDatabase } from '../src/database.ts'
import { createKey } from '../src/domain/credential/key.service.ts'
import { createTenant } from '../src/domain/tenant/tenant.service.ts'
import { generateSecret, secretOwnerOf } from '../src/domain/webhook/secrets.ts'
import { webhookIds } from '../src/domain/webhook/webhook.ts'
import { startCommand } from '../test/support/cli.ts'
import { locationOf } from '../test/support/settings.ts'
import { readOptions } from './options.js'
import { openServer } from './server.js'

const usage = `npm run bench -- webhooks [--try] [--events N]

  --events  how many events there are (default: 10000)
  DATABASE_URL names a PostgreSQL server, as a user who may create databases. Without it one is started.
`
const options = readOptions(usage, { events: '10000' }, { events: '10' })
const events = Number(options.events)
const chunk = Buffer.alloc(64 * 1024)

/** Sends 100 MB. */
function sendLong(response) {
  let left = 1_600
  const write = () => {
    while (left > 0 && response.write(chunk)) left -= 1
    if (left <= 0) response.end()
  }
  response.writeHead(200).on('drain', write)
  write()
}

const hang = () => undefined
const bad = {
  hangs: hang,
  'hangs too': hang,
  'hangs as well': hang,
  'answers 500': (response) => response.writeHead(500).end(),
  redirects: (response) => response.writeHead(302, { location: 'http://127.0.0.1:9/' }).end(),
  'sends 100 MB': sendLong,
}
const kinds = [...Object.entries(bad), ...Array.from({ length: 14 }, () => ['good', (r) => r.writeHead(204).end()])]

async function startEndpoint([kind, respond]) {
  const endpoint = { kind, requests: 0, ids: new Set(), completeAt: undefined }
  const server = createServer((request, response) => {
    endpoint.requests += 1
    endpoint.ids.add(request.headers['webhook-id'])
    if (endpoint.ids.size === events) endpoint.completeAt ??= performance.now()
    request.resume()
    respond(response)
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  endpoint.url = `http://127.0.0.1:${server.address().port}/hook`
  endpoint.close = () => server.closeAllConnections() ?? server.close()
  return endpoint
}

async function createWebhooks({ prisma, sql }, tenantAppId, key, endpoints) {
  const { row } = await createKey({ sql }, { tenantAppId, name: 'bench' })
  const secrets = createKeyRing([key])
  for (const { url } of endpoints) {
    const id = webhookIds.create()
    const secret = secrets.encrypt(generateSecret(), secretOwnerOf({ tenantAppId, id }))
    const data = {
      tenantAppId,
      id,
      url,
      secret,
      keyId: row.id,
      eventTypes: ['USER_CREATED'],
      scopes: ['users:read'],
      cursor: 'evt_0',
    }
    await prisma.webhook.create({ data })
  }
}

const server = await openServer()
const endpoints = await Promise.all(kinds.map(startEndpoint))
try {
  const url = await server.createDatabase()
  const key = Buffer.alloc(32, 1)
  const database = await openDatabase(locationOf(url, { statementMilliseconds: 60_000 }))
  await deployMigrations(database)
  const { id: tenantAppId } = await createTenant(database, 'Bench')
  await createWebhooks(database, tenantAppId, key, endpoints)
  await database.prisma.$executeRaw`
    INSERT INTO "user" (tenant_app_id, id, name, email, updated_at)
    SELECT ${tenantAppId}, 'usr_' || number, 'n', 'e', now() FROM generate_series(1, ${events}::int) AS number`
  const env = { DATABASE_URL: url, SECRET_KEYS: key.toString('base64'), FETCH_PRIVATE_NETWORKS: 'on' }
  const startedAt = performance.now()
  const worker = await startCommand(['work'], { ...env, LOG_LEVEL: 'info' }, 'working')
  const good = endpoints.filter(({ kind }) => kind === 'good')
  while (good.some(({ completeAt }) => completeAt === undefined)) {
    await new Promise((resolve) => setTimeout(resolve, options.try ? 100 : 5_000))
    process.stderr.write(`${good.map(({ ids }) => ids.size).join(' ')}\n`)
  }
  const seconds = good.map(({ completeAt }) => (completeAt - startedAt) / 1_000).toSorted((one, other) => one - other)
  const delivered = good.length * events
  process.stdout.write(`${events} events, ${good.length} good endpoints: all events after ${Math.round(seconds[0])} s `)
  process.stdout.write(
    `(first endpoint) to ${Math.round(seconds.at(-1))} s (last), ${Math.round(delivered / seconds.at(-1))} per second\n`,
  )
  process.stdout.write('| endpoint | events | requests |\n|---|---|---|\n')
  for (const { kind, ids, requests } of endpoints) process.stdout.write(`| ${kind} | ${ids.size} | ${requests} |\n`)
  await worker.stop('SIGKILL')
  await database.close()
} finally {
  for (const { close } of endpoints) close()
  await server.remove()
}
