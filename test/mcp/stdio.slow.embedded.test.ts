import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { getDefaultEnvironment, StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { fusion, type RunningGateway, startGateway } from '../support/cli.ts'
import { createDataDir } from '../support/data-dir.ts'
import { projectRoot, readBlocks } from '../support/docs.ts'
import { connectBy, connectTo } from '../support/mcp.ts'

const cli = path.resolve(import.meta.dirname, '../../src/cli.ts')
let dataDir: string
let gateway: RunningGateway
let key: string

beforeAll(async () => {
  dataDir = createDataDir()
  gateway = await startGateway({ DATA_DIR: dataDir })
  key = readFileSync(path.join(dataDir, 'demo-key'), 'utf8').trim()
})
afterAll(async () => {
  await gateway.stop()
  rmSync(dataDir, { recursive: true })
})

/** `fusion mcp`, started by the official client. */
function transport(apiKey: string) {
  const args = [cli, 'mcp', '--url', gateway.address]
  return new StdioClientTransport({ command: process.execPath, args, env: { FUSION_API_KEY: apiKey }, stderr: 'pipe' })
}

it.each(['legacy', 'auto'] as const)(
  'fusion mcp offers the tools of the gateway over stdio (versions: %s)',
  async (mode) => {
    const stdio = await connectBy(transport(key), { versionNegotiation: { mode } })
    const http = await connectTo(gateway.address, { 'x-api-key': key })
    expect((await stdio.client.listTools()).tools).toEqual((await http.client.listTools()).tools)
    expect(await stdio.call('get_user', { id: 'usr_demo_1' })).toEqual(
      await http.call('get_user', { id: 'usr_demo_1' }),
    )
    expect(await stdio.call('get_user', { id: 'nope' })).toMatchObject({ isError: true, json: { code: 'NOT_FOUND' } })
    await expect(stdio.client.callTool({ name: 'nope', arguments: {} })).rejects.toThrow('There is no tool nope.')
  },
)

it('the configurations of docs/mcp.md are JSON, and the program of the last one starts', async () => {
  const files = readBlocks('docs/mcp.md', 'Connect').filter(({ language }) => language === 'json')
  const [last] = files.map(({ code }) => JSON.parse(code)).slice(-1)
  const { command, args } = last.mcpServers.fusion as { readonly command: string; readonly args: string[] }
  const texts: Record<string, string> = {
    '/path/to/fusion-gateway': projectRoot,
    'http://127.0.0.1:4000': gateway.address,
  }
  const env = { ...getDefaultEnvironment(), FUSION_API_KEY: key }
  const started = new StdioClientTransport({
    command,
    args: args.map((text) => texts[text] ?? text),
    env,
    stderr: 'pipe',
  })
  const { call } = await connectBy(started)
  expect(await call('get_user', { id: 'usr_demo_1' })).toMatchObject({ isError: false })
})

it('FUSION_API_KEY can be an access token that is bound to a user', async () => {
  const headers = { 'x-api-key': key, 'content-type': 'application/json' }
  const query =
    'mutation { createAccessToken(input: { userId: "usr_demo_1", scopes: ["users:read", "contacts:read"] }) { accessToken } }'
  const response = await fetch(`${gateway.address}/graphql`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ query }),
  })
  const { data } = (await response.json()) as { data: { createAccessToken: { accessToken: string } } }
  const { call } = await connectBy(transport(data.createAccessToken.accessToken))
  expect((await call('list_users')).json.users).toMatchObject([{ id: 'usr_demo_1' }])
})

it('fusion mcp ends when its input is closed, and writes nothing but messages', async () => {
  const env = { ...process.env, FUSION_API_KEY: key }
  const child = spawn(process.execPath, [cli, 'mcp', '--url', gateway.address], {
    env,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const [stdout, stderr] = [text(child.stdout), text(child.stderr)]
  child.stdin.end()
  const [code] = await once(child, 'close')
  expect([code, await stdout, await stderr]).toEqual([0, '', ''])
})

it.each([
  ['without a key', [], {}, 1, 'Set FUSION_API_KEY to an API key or an access token.\n'],
  ['with a wrong key', [], { FUSION_API_KEY: 'fus_wrong' }, 1, /\/mcp refused: .*API key/],
  [
    'if the gateway cannot be reached',
    ['--url', 'http://127.0.0.1:1'],
    { FUSION_API_KEY: 'fus_x' },
    1,
    /127\.0\.0\.1:1\/mcp cannot be reached: /,
  ],
  ['with a URL that is none', ['--url', 'here'], {}, 2, /Give an http or https URL/],
] as const)('fusion mcp exits with an error on stderr %s', async (_, args, env, code, message) => {
  const url = args.length > 0 ? args : ['--url', gateway.address]
  const ended = await fusion(['mcp', ...url], { FUSION_API_KEY: '', ...env })
  expect(ended).toMatchObject({ code, stdout: '' })
  expect(ended.stderr).toMatch(message)
})
