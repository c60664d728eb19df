import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type RunningGateway, startGateway } from '../support/cli.ts'
import { createDataDir } from '../support/data-dir.ts'
import { readLog } from '../support/processes.ts'

const handlers = `
  import { exit } from 'node:process'
  import { setTimeout as sleep } from 'node:timers/promises'
  let isArmed = false
  // Outside of any job.
  setInterval(() => {
    if (isArmed) throw new Error('a timer of the file')
  }, 10).unref()

  export async function innocent(_, { signal }) {
    await sleep(3_600_000, undefined, { signal })
  }
  export async function careless() {
    await sleep(1)
    Promise.reject(new Error('nobody awaits this'))
    await sleep(3_600_000)
  }
  export async function quitting() {
    await sleep(1)
    process.exit(3)
  }
  export async function quittingLater() {
    setTimeout(() => exit(3), 1)
    await sleep(3_600_000)
  }
  export async function ending() {
    process.kill(process.pid, 'SIGUSR2')
    await sleep(3_600_000)
  }
  process.on('SIGUSR2', () => process.exit(4))
  export async function arming() {
    isArmed = true
    await sleep(3_600_000)
  }`

let dataDir: string
beforeAll(() => {
  dataDir = createDataDir()
  writeFileSync(path.join(dataDir, 'handlers.mjs'), handlers)
})
afterAll(() => rmSync(dataDir, { recursive: true }))

async function send<Data>({ address }: RunningGateway, query: string): Promise<Data> {
  const key = readFileSync(path.join(dataDir, 'demo-key'), 'utf8').trim()
  const headers = { 'x-api-key': key, 'content-type': 'application/json' }
  const response = await fetch(`${address}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query }) })
  return ((await response.json()) as { data: Data }).data
}

async function create(gateway: RunningGateway, jobType: string): Promise<string> {
  const mutation = `mutation { createJob(input: { jobType: "${jobType}", maxAttempts: 2 }) { job { id } } }`
  return (await send<{ createJob: { job: { id: string } } }>(gateway, mutation)).createJob.job.id
}

async function show(gateway: RunningGateway, id: string) {
  const query = `{ job(id: "${id}") { status attempts error { code message } } }`
  return (await send<{ job: { status: string; attempts: number; error: object | null } }>(gateway, query)).job
}

const fatalLines = (output: string) => readLog(output).filter(({ level }) => level === 60)

it('an error that nothing catches ends the process with one line in the log, and fails the job that left it', async () => {
  const first = await startGateway({ DATA_DIR: dataDir }, ['--handlers', path.join(dataDir, 'handlers.mjs')])
  const closed = once(first.child, 'close')
  const innocent = await create(first, 'innocent')
  await expect.poll(() => show(first, innocent)).toMatchObject({ status: 'RUNNING' })
  const careless = await create(first, 'careless')
  expect(await closed).toEqual([1, null])
  expect(fatalLines(first.output())).toMatchObject([
    {
      err: { message: 'nobody awaits this', stack: expect.stringContaining('handlers.mjs') },
      jobs: [
        { id: innocent, jobType: 'innocent' },
        { id: careless, jobType: 'careless' },
      ],
      failedJob: careless,
      msg: expect.stringContaining('docs/jobs.md'),
    },
  ])
  // Each line of the log is JSON: there is no bare stack.
  expect(first.output()).not.toMatch(/^\s+at /m)

  const second = await startGateway({ DATA_DIR: dataDir })
  expect(await show(second, careless)).toEqual({
    status: 'FAILED',
    attempts: 1,
    error: {
      code: 'UNCAUGHT_ERROR',
      message: 'The handler left an error uncaught, which ended the worker: nobody awaits this',
    },
  })
  expect(await show(second, innocent)).toMatchObject({ status: 'PENDING', error: { code: 'WORKER_CRASHED' } })
  await send(second, `mutation { cancelJob(input: { id: "${innocent}" }) { job { id } } }`)
  await second.stop()
})

it('the job that runs alone fails, also if the error comes from elsewhere', async () => {
  const first = await startGateway({ DATA_DIR: dataDir }, ['--handlers', path.join(dataDir, 'handlers.mjs')])
  const closed = once(first.child, 'close')
  const id = await create(first, 'arming')
  expect(await closed).toEqual([1, null])
  expect(fatalLines(first.output())).toMatchObject([{ jobs: [{ id, jobType: 'arming' }], failedJob: id }])
  const second = await startGateway({ DATA_DIR: dataDir })
  expect(await show(second, id)).toMatchObject({ status: 'FAILED', attempts: 1, error: { code: 'UNCAUGHT_ERROR' } })
  await second.stop()
})

it('process.exit fails the attempt of the handler that calls it, and not the process', async () => {
  const gateway = await startGateway({ DATA_DIR: dataDir }, ['--handlers', path.join(dataDir, 'handlers.mjs')])
  const quitting = await create(gateway, 'quitting')
  await expect
    .poll(() => show(gateway, quitting), { timeout: 20_000 })
    .toEqual({
      status: 'FAILED',
      attempts: 2,
      error: { code: 'PROCESS_EXIT', message: 'The handler called process.exit(3)' },
    })
  const closed = once(gateway.child, 'close')
  const later = await create(gateway, 'quittingLater')
  expect(await closed).toEqual([1, null])
  expect(fatalLines(gateway.output())).toMatchObject([{ failedJob: later, err: { code: 'PROCESS_EXIT' } }])
})

it('a process that something else ends while jobs run says which', async () => {
  const gateway = await startGateway({ DATA_DIR: dataDir }, ['--handlers', path.join(dataDir, 'handlers.mjs')])
  const closed = once(gateway.child, 'close')
  const id = await create(gateway, 'ending')
  expect(await closed).toEqual([4, null])
  expect(fatalLines(gateway.output())).toMatchObject([{ jobs: [{ id, jobType: 'ending' }], code: 4 }])
})
