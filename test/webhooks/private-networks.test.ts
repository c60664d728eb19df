import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createKeyRing } from '@fusion-gateway/auth'
import type { AllowedNetworks } from '@fusion-gateway/network'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { createServices } from '../../src/domain/services.ts'
import { createSender } from '../../src/domain/webhook/delivery/send.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { settings } from '../support/settings.ts'
import { webhookClient } from '../support/webhooks.ts'

describe('FETCH_PRIVATE_NETWORKS', () => {
  it.each<[string, AllowedNetworks]>([
    ['', false],
    ['off', false],
    ['on', true],
    ['10.20.0.0/16', ['10.20.0.0/16']],
    [' 10.20.0.0/16, fd00::/8,192.168.1.5 ', ['10.20.0.0/16', 'fd00::/8', '192.168.1.5']],
  ])('is %j', (value, expected) => {
    expect(readConfig({ FETCH_PRIVATE_NETWORKS: value }).fetchPrivateNetworks).toEqual(expected)
  })

  it.each(['yes', '10.20.0.0/33', '10.20.0/16', 'fe80::1%eth0', 'on,10.0.0.0/8', ',', '10.0.0.0/', 'localhost'])(
    'cannot be %j',
    (value) => {
      expect(() => readConfig({ FETCH_PRIVATE_NETWORKS: value })).toThrow(
        'FETCH_PRIVATE_NETWORKS must be on, off, or networks such as 10.20.0.0/16, separated by commas',
      )
    },
  )

  describe('with a list', () => {
    let server: Server
    let port: number
    beforeAll(async () => {
      server = createServer((_request, response) => response.end())
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      port = (server.address() as AddressInfo).port
    })
    afterAll(() => server.close())

    it.each([
      [['127.0.0.0/8'], '127.0.0.1', null],
      [['127.0.0.0/8'], '[::ffff:127.0.0.1]', null],
      [['10.0.0.0/8', '127.0.0.1'], 'localhost', null],
      [['127.0.0.2', '10.0.0.0/8'], '127.0.0.1', 'the address is not public'],
      [['fd00::/8'], '127.0.0.1', 'the address is not public'],
    ])('allows the addresses of its networks only: %j, %s', async (allowPrivateNetworks, host, expected) => {
      const { send, close } = createSender({ allowPrivateNetworks, timeoutMilliseconds: 5_000 })
      const { error } = await send(`http://${host}:${port}`, { headers: {}, body: '' })
      await close()
      expect(error).toBe(expected)
    })
  })
})

describe('a webhook', () => {
  let app: TestApp
  let tenant: TestTenant
  const apps = new Map<string, Promise<TestApp>>()
  beforeAll(async () => {
    app = await startTestApp()
    tenant = await app.createTenant()
  })
  afterAll(async () => {
    for (const started of apps.values()) await (await started).close()
    await app.close()
  })

  /** A client of a gateway that allows these networks. */
  async function clientOf(fetchPrivateNetworks: AllowedNetworks) {
    const name = JSON.stringify(fetchPrivateNetworks)
    const started = apps.get(name) ?? startAllowing(fetchPrivateNetworks)
    apps.set(name, started)
    return webhookClient(await started, tenant)
  }

  async function startAllowing(fetchPrivateNetworks: AllowedNetworks): Promise<TestApp> {
    const keyRing = createKeyRing([Buffer.from(app.webhookKey, 'base64')])
    const services = createServices(app.database, { ...settings, keyRing, fetchPrivateNetworks })
    return app.startAnother({ services })
  }

  const refusal = {
    code: 'OUT_OF_RANGE',
    field: ['url'],
    message:
      'must not lead to an address that is not public. The operator can allow its network with FETCH_PRIVATE_NETWORKS',
  }

  it.each([
    'http://127.0.0.1:4000/',
    'http://[::1]/',
    'https://10.1.2.3/hook',
    'http://169.254.169.254/latest',
    'http://2130706433/',
    'http://localhost:3000/hook',
    'http://[::ffff:192.168.1.1]/',
  ])('for an address that is not public is refused when it is made, and when it is changed: %s', async (url) => {
    const client = await clientOf(false)
    const eventTypes = ['USER_CREATED']
    expect(await client.call('createWebhook', { url, eventTypes })).toMatchObject({
      webhook: null,
      secret: null,
      userErrors: [refusal],
    })
    const { id } = await client.create('https://1.1.1.1/hook')
    expect((await client.call('updateWebhook', { id, url })).userErrors).toEqual([refusal])
    expect(await client.show(id)).toMatchObject({ url: 'https://1.1.1.1/hook' })
  })

  it('for an address of an allowed network is made', async () => {
    const client = await clientOf(['10.20.0.0/16'])
    expect(await client.create('http://10.20.3.4:8080/')).toMatchObject({ url: 'http://10.20.3.4:8080/' })
    const refused = await client.call('createWebhook', { url: 'http://10.21.3.4:8080/', eventTypes: ['USER_CREATED'] })
    expect(refused.userErrors).toEqual([refusal])
  })

  it('for a name that cannot be looked up now is made', async () => {
    const client = await clientOf(false)
    expect(await client.create('https://not-yet.invalid/hook')).toMatchObject({ enabled: true })
  })

  it('keeps the other errors of its URL', async () => {
    const client = await clientOf(false)
    const { userErrors } = await client.call('createWebhook', { url: 'ftp://10.1.2.3', eventTypes: ['USER_CREATED'] })
    expect(userErrors).toMatchObject([{ code: 'INVALID_FORMAT' }])
  })
})
