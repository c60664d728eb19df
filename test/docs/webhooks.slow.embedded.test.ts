import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { signMessage } from '../../src/domain/webhook/delivery/send.ts'
import { generateSecret } from '../../src/domain/webhook/secrets.ts'
import { projectRoot } from '../support/docs.ts'
import { startReceiver } from '../support/webhooks.ts'

const receivers: ChildProcess[] = []
afterEach(async () => {
  for (const receiver of receivers.splice(0)) {
    const ended = once(receiver, 'close')
    receiver.kill('SIGKILL')
    await ended
  }
})

const hasPython = spawnSync('python3', ['--version']).status === 0
const secret = generateSecret()

/** A port that was free a moment ago. */
async function freePort(): Promise<string> {
  const receiver = await startReceiver()
  await receiver.close()
  return new URL(receiver.url).port
}

/** Starts an example and waits until it listens. */
async function start(program: string, file: string) {
  const port = await freePort()
  const child = spawn(program, [path.join(projectRoot, 'examples/webhooks', file)], {
    env: { ...process.env, WEBHOOK_SECRET: secret, PORT: port },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  receivers.push(child)
  let output = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  while (!output.includes('ready')) await once(child.stdout, 'data')
  return { url: `http://127.0.0.1:${port}/hook`, output: () => output }
}

const examples: [string, string, boolean][] = [
  ['receiver.js', process.execPath, true],
  ['receiver.py', 'python3', hasPython],
]

it.each(examples.filter(([, , exists]) => exists))(
  'examples/webhooks/%s accepts only what is signed',
  async (file, program) => {
    const { url, output } = await start(program, file)
    const body = '{"type":"user.created"}'
    const [now, old] = [Date.now(), Date.now() - 600_000]
    const statusOf = async (headers: Readonly<Record<string, string>>, sentBody = body) =>
      (await fetch(url, { method: 'POST', headers, body: sentBody })).status
    const rotated = signMessage('evt_1', body, [generateSecret(), secret], now)
    expect(await statusOf(rotated.headers)).toBe(204)
    await expect.poll(output).toMatch(/evt_\w+ user\.created/)
    expect(await statusOf(rotated.headers, body.replace('user', 'evil'))).toBe(401)
    expect(await statusOf(signMessage('evt_1', body, [generateSecret()], now).headers)).toBe(401)
    expect(await statusOf(signMessage('evt_1', body, [secret], old).headers)).toBe(401)
  },
)
