import { createSocket } from 'node:dgram'
import dns from 'node:dns'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { AllowedNetworks } from '@fusion-gateway/network'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createFetchContent } from '../../src/domain/job/handlers/fetch-content.ts'
import { createSender } from '../../src/domain/webhook/delivery/send.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { type ShownWebhook, startDeliveriesOf, startReceiver, webhookClient } from '../support/webhooks.ts'

const createUser =
  'mutation { createUser(input: { name: "Ada", email: "ada@example.com", phone: "1" }) { user { id } } }'

describe('a tenant whose hosts have silent name servers', () => {
  let app: TestApp
  beforeAll(async () => {
    app = await startTestApp()
  })
  afterAll(() => app.close())

  it('keeps neither the webhooks of other tenants nor lookups of the process waiting', async () => {
    const nameServer = await startNameServer(() => undefined)
    const receiver = await startReceiver()
    const lookup = vi.spyOn(dns, 'lookup')
    const [silent, other] = [await app.createTenant(), await app.createTenant()]
    const client = webhookClient(app, silent)
    const hosts = Array.from({ length: 48 }, (_, index) => `hook-${index}.example`)
    const created: ShownWebhook[] = []
    for (const host of hosts) created.push(await client.create(`http://${host}/`))
    await webhookClient(app, other).create(receiver.url.replace('127.0.0.1', 'localhost'))
    const stop = startDeliveriesOf(app, { nameServers: [nameServer.address] })
    onTestFinished(async () => {
      await stop()
      nameServer.close()
      lookup.mockRestore()
      await receiver.close()
    })

    await app.graphql(silent, createUser)
    await vi.waitFor(() => expect([...nameServer.queried].sort()).toEqual([...hosts].sort()), 20_000)
    await app.graphql(other, createUser)
    await receiver.received(1)
    await vi.waitFor(async () => {
      for (const { id } of created.slice(0, 3)) {
        expect(await client.deliveries(id)).toMatchObject([{ error: 'no response: EAI_AGAIN' }])
      }
    }, 20_000)
    expect(lookup).not.toHaveBeenCalled()
  }, 60_000)
})

describe('the lookup of hosts that tenants name', () => {
  let port: number
  const server = createServer((_request, response) => response.end('{}'))
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    port = (server.address() as AddressInfo).port
  })
  afterAll(() => void server.close())

  async function send(
    host: string,
    { nameServers, allowPrivateNetworks = true }: { nameServers: string[]; allowPrivateNetworks?: AllowedNetworks },
  ) {
    const { send, close } = createSender({ allowPrivateNetworks, timeoutMilliseconds: 10_000, nameServers })
    onTestFinished(() => close())
    return () => send(`http://${host}:${port}/`, { headers: {}, body: '' })
  }

  it('knows names of localhost and of /etc/hosts without a name server', async () => {
    const nameServer = await startNameServer(() => undefined)
    onTestFinished(() => nameServer.close())
    const [, ...named] = /^127\.0\.0\.1\s+(.*)$/m.exec(readFileSync('/etc/hosts', 'utf8')) ?? []
    for (const host of ['localhost', 'localhost.', 'a.localhost', ...named.flatMap((names) => names.split(/\s+/))]) {
      const deliver = await send(host, { nameServers: [nameServer.address] })
      expect(await deliver()).toMatchObject({ isAccepted: true })
    }
    expect(nameServer.queried.size).toBe(0)
  })

  it('finds the addresses of name servers, each of which is checked when a socket connects to it', async () => {
    let addresses = ['127.0.0.1']
    const nameServer = await startNameServer(() => addresses)
    onTestFinished(() => nameServer.close())
    const nameServers = [nameServer.address]
    expect(await (await send('open.example', { nameServers }))()).toMatchObject({ isAccepted: true })
    const onlyPublic = await send('rebound.example', { nameServers, allowPrivateNetworks: ['127.0.0.3'] })
    expect(await onlyPublic()).toMatchObject({ error: 'the address is not public' })
    // The server listens at 127.0.0.1 alone, so the first address refuses, and the second is not public.
    addresses = ['127.0.0.3', '127.0.0.1']
    expect(await onlyPublic()).toMatchObject({ isAccepted: false })
    addresses = []
    expect(await (await send('none.example', { nameServers }))()).toMatchObject({ error: 'no response: ENOTFOUND' })
  })

  it('remembers for a while that a host was not found, and ends in time when nobody answers', async () => {
    const nameServer = await startNameServer((name) => (name.startsWith('silent') ? undefined : []))
    onTestFinished(() => nameServer.close())
    const fetchContent = createFetchContent({
      allowPrivateNetworks: true,
      userAgent: 'Test/1.0',
      nameServers: [nameServer.address],
    })
    const context = { signal: new AbortController().signal, attempt: 1, progress: () => undefined }
    const fetched = async (host: string) => fetchContent({ url: `http://${host}/` } as never, context)
    for (const [host, code] of [
      ['silent.example', 'EAI_AGAIN'],
      ['missing.example', 'ENOTFOUND'],
    ] as const) {
      await expect(fetched(host)).rejects.toMatchObject({ code })
      expect(nameServer.queried.delete(host)).toBe(true)
      await expect(fetched(host)).rejects.toMatchObject({ code })
      expect(nameServer.queried.has(host)).toBe(false)
    }
  })
})

/** A name server on the loopback interface. */
interface NameServer {
  readonly address: string
  /** The names of the queries that it has received. */
  readonly queried: Set<string>
  close(): void
}

/**
 * Starts a name server.
 *
 * @param addressesOf the IPv4 addresses of a name; undefined if it never answers
 */
async function startNameServer(addressesOf: (name: string) => readonly string[] | undefined): Promise<NameServer> {
  const queried = new Set<string>()
  const socket = createSocket('udp4')
  socket.on('message', (query, { port, address }) => {
    const labels: string[] = []
    let at = 12
    for (let length = query[at]; length; length = query[at]) {
      labels.push(query.toString('latin1', at + 1, at + 1 + length))
      at += length + 1
    }
    const name = labels.join('.').toLowerCase()
    queried.add(name)
    const addresses = addressesOf(name)
    if (!addresses) return
    const isForIPv4 = query.readUInt16BE(at + 1) === 1
    const answers = (isForIPv4 ? addresses : []).map((one) =>
      Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...one.split('.').map(Number)]),
    )
    // A response without an error, to one question, with so many answers.
    const header = Buffer.from([...query.subarray(0, 2), 0x81, 0x80, 0, 1, 0, answers.length, 0, 0, 0, 0])
    socket.send(Buffer.concat([header, query.subarray(12, at + 5), ...answers]), port, address)
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  return { address: `127.0.0.1:${socket.address().port}`, queried, close: () => socket.close() }
}
