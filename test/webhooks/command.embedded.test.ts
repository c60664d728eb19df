import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../support/app.ts'
import { fusion, startCommand } from '../support/cli.ts'
import { addressOf } from '../support/events.ts'
import { type ReceivedMessage, type Receiver, startReceiver } from '../support/webhooks.ts'

let app: TestApp
let address: string
let receiver: Receiver
let key: string

beforeAll(async () => {
  app = await startTestApp()
  address = await addressOf(app)
  key = (await app.createTenant()).key
  receiver = await startReceiver((response, { path }) => response.writeHead(path === '/hook' ? 204 : 500).end())
})
afterAll(async () => {
  await app.close()
  await receiver.close()
})

const webhooks = (args: readonly string[], env: Record<string, string> = {}) => fusion(['webhooks', ...args], env)

function verify(secret: string, { body, headers }: ReceivedMessage): unknown {
  return new Webhook(secret).verify(body, headers as Record<string, string>)
}

describe('webhooks listen', () => {
  it('prints and forwards events, signed with the secret that it shows', async () => {
    const args = ['webhooks', 'listen', '--url', address, '--forward', receiver.url, '--types', 'USER_CREATED']
    const command = await startCommand(args, { FUSION_API_KEY: key }, 'Listening')
    const before = receiver.messages.length
    // The subscription begins a moment after the connection.
    while (receiver.messages.length === before) {
      const body = JSON.stringify({ name: 'Ada', email: 'ada@example.com', phone: '1' })
      await fetch(`${address}/users`, {
        method: 'POST',
        body,
        headers: { 'x-api-key': key, 'content-type': 'application/json' },
      })
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    const message = receiver.messages[before] as ReceivedMessage
    const [secret = ''] = /whsec_\S+/.exec(command.output()) ?? []
    expect(verify(secret, message)).toMatchObject({ type: 'user.created', data: { type: 'USER_CREATED' } })
    await expect.poll(command.output).toMatch(/^evt_\w+\tUSER_CREATED\tusr_\S+\t204$/m)
    await command.stop()
  })

  it('says what is wrong', async () => {
    const missing = await webhooks(['listen'])
    expect(missing).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('FUSION_API_KEY') })
    const wrong = await webhooks(['listen', '--url', address], { FUSION_API_KEY: 'fk_wrong' })
    expect(wrong).toMatchObject({ code: 1, stderr: expect.stringMatching(/^The gateway refused: /) })
    for (const args of [
      ['--types', 'USER_EATEN'],
      ['--url', 'ftp://x'],
      ['--secret', 'whsec_short'],
    ]) {
      expect((await webhooks(['listen', ...args])).code).toBe(2)
    }
  })
})
