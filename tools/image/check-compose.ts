import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { freePort } from '../../test/support/cluster.ts'
import type { Container, ContainerImage } from './build-image.ts'
import { type GatewayService, readCompose } from './compose.ts'
import { waitUntilReady } from './measure.ts'
import { startServers } from './start-servers.ts'

/** A service that runs in a container. */
interface Started {
  readonly container: Container
  readonly env: Readonly<Record<string, string>>
  readonly address: string
  readonly metricsUrl: string
  /** Stops it, and fails if that takes longer than compose.yaml allows, or it exits with another code than 0. */
  stop(): Promise<void>
}

/**
 * Starts the services of compose.yaml, uses them, and stops them. Two things differ from Compose: the containers share
 * the network of this machine, so each has a port of its own; and the worker may fetch from it.
 *
 * @returns how long the services took, for a reader
 */
export async function checkCompose(image: ContainerImage): Promise<string> {
  const compose = readCompose()
  const servers = await startServers(compose)
  const feed = await serveFeed()
  const started: Started[] = []
  try {
    const begun = performance.now()
    const start = async (service: GatewayService, extra: Readonly<Record<string, string>> = {}) => {
      const container = image.createContainer(servers.hosts)
      const one = await startService(container, service, extra)
      started.push(one)
      return one
    }
    const { command = [], env } = compose.migrate
    const migration = image.createContainer(servers.hosts).start(command, env)
    assert.equal(await migration.ended(), 0, migration.output())
    const gateways = await Promise.all(Array.from({ length: compose.gateway.replicas }, () => start(compose.gateway)))
    await start(compose.worker, { FETCH_PRIVATE_NETWORKS: 'on' })
    const [first, second] = gateways as [Started, Started]
    for (const { address } of gateways) await waitUntilReady(address)
    const readySeconds = ((performance.now() - begun) / 1_000).toFixed(1)

    first.container.run(['node', 'bin/fusion.js', 'tenants', 'create', 'Compose'], first.env)
    const key = first.container.run(['node', 'bin/fusion.js', 'keys', 'create', '--tenant', 'Compose'], first.env)
    await checkPages(first)
    await checkUsers(first, second, key)
    await checkJob(first, second, key, feed.url)
    for (const { container, env } of gateways) container.run(image.healthCheck, env)
    for (const one of started) {
      assert.equal((await fetch(one.metricsUrl)).status, 200)
      checkFiles(one.container)
      await one.stop()
      assert.deepEqual(one.container.changedFiles(), [], 'Compose makes the files read-only')
    }
    return `ready after ${readySeconds} s`
  } finally {
    feed.close()
    await servers.stop()
  }
}

async function startService(
  container: Container,
  service: GatewayService,
  extra: Readonly<Record<string, string>>,
): Promise<Started> {
  const [PORT, METRICS_PORT] = [String(await freePort()), String(await freePort())]
  const env = { ...service.env, PORT, METRICS_PORT, ...extra }
  const running = container.start(service.command ?? ['serve'], env)
  await running.written(/Server listening|"working"/)
  return {
    container,
    env,
    address: `http://127.0.0.1:${PORT}`,
    metricsUrl: `http://127.0.0.1:${METRICS_PORT}/metrics`,
    async stop() {
      const milliseconds = await running.stop()
      assert.ok(milliseconds < service.graceMilliseconds, `It took ${milliseconds} ms to stop`)
    },
  }
}

/** The files of pages are in the image. */
async function checkPages({ address }: Started): Promise<void> {
  const page = await (await fetch(`${address}/docs`)).text()
  const files = page.matchAll(/(?:src|href)="([^"]+\.(?:js|css))"/g)
  const links = Array.from(files, ([, file = '']) => file)
  assert.equal(links.length, 4, page)
  for (const link of ['.', 'openapi.json', ...links]) {
    assert.equal((await fetch(new URL(link, `${address}/docs`))).status, 200, link)
  }
}

type Created<Name extends string> = Readonly<Record<Name, { readonly id: string }>>

/** A user that one gateway creates is read at another. */
async function checkUsers(first: Started, second: Started, key: string): Promise<void> {
  const created = await ask<{ createUser: Created<'user'> }>(
    first,
    key,
    'mutation { createUser(input: { name: "Ada", email: "ada@example.com", phone: "1" }) { user { id } } }',
  )
  const { id } = created.createUser.user
  const read = await ask<{ user: unknown }>(second, key, `{ user(id: "${id}") { name } }`)
  assert.deepEqual(read.user, { name: 'Ada' })
}

const jobMilliseconds = 30_000

interface Job {
  readonly status: string
  readonly result: { readonly contentIds: readonly string[] } | null
}

/** The worker runs a job that a gateway creates. */
async function checkJob(first: Started, second: Started, key: string, url: string): Promise<void> {
  const input = `{ jobType: "fetch_content", payload: { url: "${url}" } }`
  const created = await ask<{ createJob: Created<'job'> }>(
    first,
    key,
    `mutation { createJob(input: ${input}) { job { id } } }`,
  )
  const { id } = created.createJob.job
  const deadline = performance.now() + jobMilliseconds
  for (;;) {
    const { job } = await ask<{ job: Job }>(second, key, `{ job(id: "${id}") { status result } }`)
    if (job.status === 'SUCCEEDED') return assert.deepEqual(job.result?.contentIds, ['entry-1'])
    assert.ok(performance.now() < deadline && job.status !== 'FAILED', JSON.stringify(job))
    await setTimeout(100)
  }
}

/** Sends a GraphQL request and returns its data. */
async function ask<Data>({ address }: Started, key: string, query: string): Promise<Data> {
  const headers = { 'x-api-key': key, 'content-type': 'application/json' }
  const response = await fetch(`${address}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query }) })
  const { data, errors } = (await response.json()) as { data: Data; errors?: unknown }
  assert.equal(errors, undefined, JSON.stringify(errors))
  return data
}

/** The image's user is not root, and may write to none of the gateway's files. */
function checkFiles(container: Container): void {
  assert.equal(container.run(['id', '--user', '--name']), 'node')
  assert.equal(container.run(['find', '/gateway', '-writable', '-not', '-type', 'l']), '')
}

async function serveFeed() {
  const body = JSON.stringify({
    version: 'https://jsonfeed.org/version/1.1',
    title: 'Feed',
    items: [{ id: 'entry-1' }],
  })
  const server = createServer((_, response) => response.setHeader('content-type', 'application/feed+json').end(body))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, close: () => server.close() }
}
