import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { readTrustedDocuments } from '@fusion-gateway/gateway-kit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { schemas } from '../../src/domain/schema.graphql.ts'
import { openDemo } from '../../src/domain/seed/seed.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { createEmptyDir } from '../support/data-dir.ts'
import { readBlocks } from '../support/docs.ts'
import { addressOf } from '../support/events.ts'

let app: TestApp
let address: string
let folder: string
beforeAll(async () => {
  folder = createEmptyDir()
  const dataDir = path.join(folder, 'data')
  mkdirSync(dataDir)
  const paths = [path.join(import.meta.dirname, '../fixtures/documents.json')]
  app = await startTestApp({
    trustedDocuments: readTrustedDocuments({ paths, others: 'log' }, schemas.schema, {
      warn: (_details, message) => expect.unreachable(message),
    }),
  })
  await openDemo(app.database, dataDir)
  address = await addressOf(app)
})
afterAll(async () => {
  await app.close()
  rmSync(folder, { recursive: true })
})

/** Starts a command of the documentation, in the folder that contains `data`. */
function start(code: string): ChildProcess & { stdout: NonNullable<ChildProcess['stdout']> } {
  const script = `KEY=$(cat data/demo-key)\n${code.replaceAll('http://127.0.0.1:4000', address)}`
  return spawn('bash', ['-c', script], { cwd: folder, detached: true, stdio: ['ignore', 'pipe', 'inherit'] })
}

const commandsOf = (file: string, heading: string) =>
  readBlocks(file, heading).filter(({ code }) => code.includes('http://127.0.0.1:4000'))

describe('the commands of the README and of docs/graphql.md work as pasted', () => {
  const commands = [...commandsOf('README.md', 'Five-minute tour'), ...commandsOf('docs/graphql.md', 'Documents by id')]

  it('there are six of them', () => expect(commands).toHaveLength(6))

  it.each(commands.filter(({ code }) => !code.includes('curl -sSN')))('$intro', async ({ code }) => {
    const body = JSON.parse(await text(start(code).stdout)) as Record<string, unknown>
    expect(body).not.toHaveProperty('errors')
    expect(body).not.toHaveProperty('status')
  })

  it.each(commands.filter(({ code }) => code.includes('curl -sSN')))('$intro', async ({ code }) => {
    const child = start(code)
    let output = ''
    for await (const chunk of child.stdout) {
      output += String(chunk)
      if (/^event: next\ndata: .*\n\n/m.test(output)) break
    }
    expect(output).toContain('"attempts":')
    const closed = once(child, 'close')
    process.kill(-(child.pid as number), 'SIGINT')
    await closed
  })
})

it('the follower of docs/events.md prints what happens after its start', async () => {
  const code = readBlocks('docs/events.md').find(({ language }) => language === 'ts')?.code ?? ''
  symlinkSync(path.join(import.meta.dirname, '../../node_modules'), path.join(folder, 'node_modules'))
  writeFileSync(path.join(folder, 'follow.mts'), code)
  const child = start('API_KEY=$KEY GATEWAY_URL=http://127.0.0.1:4000 exec node follow.mts')
  const create = () =>
    request('mutation { createUser(input: { name: "Ada", email: "a@example.com", phone: "1" }) { user { id } } }')
  // The follower may not have started yet. Each user is an event.
  const timer = setInterval(create, 200)
  let output = ''
  for await (const chunk of child.stdout) {
    output += chunk
    if (output.includes('USER_CREATED')) break
  }
  expect(output).toMatch(/^\d+ users\nUSER_CREATED usr_/)
  clearInterval(timer)
  process.kill(-(child.pid as number), 'SIGKILL')
})

async function request(query: string): Promise<{ data: Record<string, unknown>; errors?: unknown }> {
  const key = readFileSync(path.join(folder, 'data/demo-key'), 'utf8').trim()
  const response = await fetch(`${address}/graphql`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  })
  return (await response.json()) as { data: Record<string, unknown>; errors?: unknown }
}

it('the query of the README has the response that the README shows', async () => {
  const [query, response] = readBlocks('README.md', 'One query')
  expect((await request(query?.code ?? '')).data).toEqual(JSON.parse(response?.code ?? ''))
})

describe('the operations of the documentation succeed on the demo tenant', () => {
  const operations = ['Examples', 'Nested lists', 'Orders']
    .flatMap((heading) => readBlocks('docs/graphql.md', heading))
    .filter(({ language }) => language === 'graphql')

  it.each(operations)('$intro', async ({ code }) => {
    const { data, errors } = await request(code)
    expect(errors).toBeUndefined()
    for (const value of Object.values(data)) expect(value).not.toBeNull()
    for (const { userErrors = [] } of Object.values(data) as { userErrors?: unknown[] }[])
      expect(userErrors).toEqual([])
  })
})
