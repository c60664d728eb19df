import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { newDataDir, startGateway } from '../support/cli.ts'
import { subscribe } from '../support/events.ts'

// A handler file imports from the project by its name, so it must be in the project's folder, as the README says.
const file = path.resolve(import.meta.dirname, `../../jobs-of-readme-${process.pid}.js`)
afterAll(() => rmSync(file, { force: true }))

describe('the README', () => {
  it('has a handler file of 15 lines at most that works as pasted', async () => {
    const readme = readFileSync(path.resolve(import.meta.dirname, '../../README.md'), 'utf8')
    const code = /```js\n(.*?)```/s.exec(readme)?.[1] ?? ''
    expect(code.trim().split('\n').length).toBeLessThanOrEqual(15)
    writeFileSync(file, code)
    const dataDir = newDataDir()
    const gateway = await startGateway({ DATA_DIR: dataDir }, ['--handlers', file])
    const key = readFileSync(path.join(dataDir, 'demo-key'), 'utf8').trim()
    const query =
      'mutation { createJob(input: { jobType: "greet", payload: { names: ["Ada", "Grace"] } }) { job { id } } }'
    const made = await fetch(`${gateway.address}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': key },
      body: JSON.stringify({ query }),
    })
    const { data } = (await made.json()) as { data: { createJob: { job: { id: string } } } }
    const { id } = data.createJob.job
    const events = await subscribe(gateway.address, key, `subscription { job(id: "${id}") { status progress result } }`)
    const seen: unknown[] = []
    for (let status: unknown; status !== 'SUCCEEDED'; ) {
      const job = (await events.next())?.data?.data?.['job'] as { status: string; progress: number }
      status = job.status
      seen.push(job)
    }
    events.close()
    expect(seen).toContainEqual({ status: 'RUNNING', progress: 0.5, result: null })
    expect(seen.at(-1)).toEqual({
      status: 'SUCCEEDED',
      progress: 1,
      result: { greetings: ['Hello Ada', 'Hello Grace'] },
    })
    await gateway.stop()
  })
})
