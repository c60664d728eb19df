import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type RunningCommand, startCommand, startGateway } from '../support/cli.ts'
import { freePort } from '../support/cluster.ts'
import { createDataDir } from '../support/data-dir.ts'
import { type Collector, type ReceivedSpan, startCollector } from './collector.ts'

const kinds = { client: 3, producer: 4, consumer: 5 }

const handlers = `
  export function greet({ name }, { progress }) { progress(0.5, 'half'); return { greeting: 'Hello ' + name } }
  export function refuse() { throw Object.assign(new Error('Zanzibar'), { name: 'PermanentError', code: 'REFUSED' }) }
`

let dataDir: string
let collector: Collector
let worker: RunningCommand | undefined

beforeAll(async () => {
  dataDir = createDataDir()
  collector = await startCollector()
  writeFileSync(path.join(dataDir, 'handlers.mjs'), handlers)
})
afterAll(() => {
  worker?.child.kill()
  collector.close()
  rmSync(dataDir, { recursive: true })
})

/** Sends mutations to a gateway that runs none of the jobs. */
async function prepare(mutations: string): Promise<void> {
  const gateway = await startGateway({ DATA_DIR: dataDir, FETCH_PRIVATE_NETWORKS: 'on' })
  const key = readFileSync(path.join(dataDir, 'demo-key'), 'utf8').trim()
  const response = await fetch(`${gateway.address}/graphql`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ query: `mutation { ${mutations} }` }),
  })
  const text = await response.text()
  for (const failure of ['"errors"', '"message"']) expect(text).not.toContain(failure)
  await gateway.stop()
}

const statementsOf = (span: ReceivedSpan | undefined) =>
  collector.spans.filter(({ kind, parentSpanId }) => kind === kinds.client && parentSpanId === span?.spanId)

it('work traces each job and each delivery, with its statements, and records no payload and no message', async () => {
  await prepare(`
    createWebhook(input: { url: "http://127.0.0.1:${await freePort()}/", eventTypes: [JOB_CREATED] }) { userErrors { message } }
    greet: createJob(input: { jobType: "greet", payload: { name: "Zanzibar" } }) { job { id } }
    refuse: createJob(input: { jobType: "refuse", payload: {} }) { job { id } }`)
  const env = {
    DATA_DIR: dataDir,
    FETCH_PRIVATE_NETWORKS: 'on',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  }
  worker = await startCommand(['work', '--handlers', path.join(dataDir, 'handlers.mjs')], env, 'working')
  const spans = (kind: number) => collector.spans.filter((span) => span.kind === kind)
  await expect.poll(() => spans(kinds.consumer), { timeout: 30_000 }).toHaveLength(2)
  await expect.poll(() => spans(kinds.producer).length, { timeout: 30_000 }).toBeGreaterThan(0)
  expect(await worker.stop()).toMatchObject({ code: 0 })

  const jobs = spans(kinds.consumer)
  const greet = jobs.find(({ name }) => name === 'process greet')
  expect(greet).toMatchObject({ service: 'fusion-gateway', status: { code: 0 } })
  expect(greet?.parentSpanId).toBeUndefined()
  expect(greet?.attributes).toEqual({
    'messaging.system': 'fusion-gateway',
    'messaging.operation.type': 'process',
    'messaging.operation.name': 'process',
    'messaging.destination.name': 'greet',
    'messaging.message.id': expect.stringMatching(/^job_/),
    'fusion.tenant': expect.any(String),
    'fusion.attempt': 1,
  })
  // The progress, and the outcome.
  expect(statementsOf(greet).map(({ name }) => name)).toEqual(['UPDATE', 'UPDATE'])
  const refused = jobs.find(({ name }) => name === 'process refuse')
  expect(refused).toMatchObject({ attributes: { 'error.type': 'REFUSED' }, status: { code: 2 } })
  expect(refused?.traceId).not.toBe(greet?.traceId)

  const [delivery] = spans(kinds.producer)
  expect(delivery).toMatchObject({
    name: 'send webhooks',
    attributes: { 'messaging.operation.type': 'send', 'error.type': 'NOT_DELIVERED' },
    status: { code: 2 },
  })
  expect(statementsOf(delivery).length).toBeGreaterThan(0)
  expect(JSON.stringify(collector.spans)).not.toContain('Zanzibar')
})
