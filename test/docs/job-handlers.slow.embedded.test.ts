import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { createClient } from 'graphql-sse'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startGateway } from '../support/cli.ts'
import { createDataDir } from '../support/data-dir.ts'
import { projectRoot, readBlocks } from '../support/docs.ts'
import { present } from '../support/jobs.ts'

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
    // A gateway that just starts on a busy machine answers 503 (`event_loop`): this client tries again, as
    // those of users do.
    const client = createClient({ url: `${gateway.address}/graphql`, headers: { 'x-api-key': key } })
    const created = client.iterate<{ createJob: { job: { id: string } } }>({ query })
    const { id } = present((await created.next()).value?.data).createJob.job
    const seen: unknown[] = []
    const following = `query @live { job(id: "${id}") { status progress result } }`
    for await (const { data } of client.iterate<{ job: { status: string } }>({ query: following })) {
      seen.push(data?.job)
      if (data && !['PENDING', 'RUNNING'].includes(data.job.status)) break
    }
    client.dispose()
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
