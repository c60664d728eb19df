import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startGateway } from '../support/cli.ts'
import { createDataDir } from '../support/data-dir.ts'
import { projectRoot, readBlocks } from '../support/docs.ts'
import { subscribe } from '../support/events.ts'

// A handler file imports the project by its name, so it must be in the project's folder. Git ignores data/.
const file = path.join(projectRoot, `data/jobs-of-docs-${process.pid}.js`)
beforeAll(() => mkdirSync(path.dirname(file), { recursive: true }))
afterAll(() => rmSync(file))

describe('docs/jobs.md', () => {
  it('has a handler of at most 15 lines that works as pasted', async () => {
    const [{ code = '' } = {}] = readBlocks('docs/jobs.md').filter(({ language }) => language === 'js')
    expect(code.trim().split('\n').length).toBeLessThanOrEqual(15)
    writeFileSync(file, code)
    const dataDir = createDataDir()
    const gateway = await startGateway({ DATA_DIR: dataDir }, ['--handlers', file])
    const key = readFileSync(path.join(dataDir, 'demo-key'), 'utf8').trim()
    const query =
      'mutation { createJob(input: { jobType: "greet", payload: { names: ["Ada", "Grace"] } }) { job { id } } }'
    const created = await fetch(`${gateway.address}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': key },
      body: JSON.stringify({ query }),
    })
    const { data } = (await created.json()) as { data: { createJob: { job: { id: string } } } }
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
    rmSync(dataDir, { recursive: true })
  })
})
