import { follow, type Send } from '@fusion-gateway/client/fetch'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createCore } from '../src/core.ts'
import type { GraphQLRequest, Result } from '../src/request.ts'

const url = 'https://gateway.example.com/graphql'
const query = 'subscription Changes($after: ID) { events(after: $after) { id } }'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
})

/** An event stream of a gateway that a test writes. */
interface Stream {
  readonly request: GraphQLRequest
  readonly signal: AbortSignal | null | undefined
  send(result: Result): void
  complete(): void
  break(): void
}

/** Subscribes by streams. `streams` has those that were opened. */
function subscribeByStream(request: GraphQLRequest = { query }, start?: 'live') {
  const streams: Stream[] = []
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (_, init) => {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
    const writer = writable.getWriter()
    const write = (text: string) => void writer.write(new TextEncoder().encode(text)).catch(() => {})
    streams.push({
      request: JSON.parse(String(init?.body)),
      signal: init?.signal,
      send: (result) => write(`event: next\ndata: ${JSON.stringify(result)}\n\n`),
      complete: () => write('event: complete\ndata:\n\n'),
      break: () => void writer.abort(new TypeError('terminated')).catch(() => {}),
    })
    return new Response(readable, { headers: { 'content-type': 'text/event-stream' } })
  })
  const waits: string[] = []
  const core = createCore({ url, transport: 'stream', onWait: (until, reason) => void (until && waits.push(reason)) })
  onTestFinished(() => core.close())
  const received: unknown[] = []
  const sink = {
    next: (result: Result) => received.push(result),
    error: (error: Error) => received.push(error),
    complete: () => received.push('complete'),
  }
  const stop = core.subscribe(request, sink, start)
  /** Waits for the next stream. */
  async function nextStream(): Promise<Stream> {
    const count = streams.length
    for (let waited = 0; waited < 60 && streams.length === count; waited += 1) await vi.advanceTimersByTimeAsync(1_000)
    return streams.at(-1) as Stream
  }
  return { streams, received, waits, stop, nextStream, core }
}

const event = (id: string): Result => ({ data: { events: { id } } })
const flush = () => vi.advanceTimersByTimeAsync(0)

describe('a subscription to events', () => {
  it('asks for its position, and continues after it if there was no event', async () => {
    const { streams, received, nextStream } = subscribeByStream()
    await flush()
    expect(streams[0]?.request).toEqual({ query, extensions: { position: true } })
    streams[0]?.send({ data: null, extensions: { position: 'the end' } })
    await flush()
    streams[0]?.break()
    const next = await nextStream()
    expect(next.request.variables).toEqual({ after: 'the end' })
    expect(received).toEqual([])
  })

  it('continues after the last event, whatever its alias', async () => {
    const { streams, received, nextStream } = subscribeByStream({ query, variables: { after: 'given', types: null } })
    await flush()
    expect(streams[0]?.request.variables).toEqual({ after: 'given', types: null })
    streams[0]?.send({ data: { changed: { id: 'evt_1' } }, extensions: { position: 'before' } })
    streams[0]?.send(event('evt_2'))
    await flush()
    streams[0]?.break()
    expect((await nextStream()).request.variables).toEqual({ after: 'evt_2', types: null })
    expect(received).toHaveLength(2)
  })

  it('with a document by its id continues too, and one without the variable starts anew', async () => {
    for (const [request, variables] of [
      [{ documentId: 'one' }, { after: 'evt_1' }],
      [{ query: 'subscription { events { id } }' }, undefined],
    ] as const) {
      const { streams, nextStream } = subscribeByStream(request)
      await flush()
      streams[0]?.send(event('evt_1'))
      await flush()
      streams[0]?.break()
      expect((await nextStream()).request.variables).toEqual(variables)
    }
  })
})

describe('a live query', () => {
  const request = { query: 'query Users @live { users { nodes { id } } }' }
  const named = (name: string): Result => ({ data: { user: { id: 'evt_1', name } } })
  const followUsers = () => subscribeByStream(request, 'live')

  it('is read anew when its connection breaks', async () => {
    const { streams, received, nextStream } = followUsers()
    await flush()
    streams[0]?.send(named('A'))
    await flush()
    streams[0]?.break()
    const next = await nextStream()
    expect([streams[0]?.request, next.request]).toEqual([request, request])
    next.send(named('B'))
    await flush()
    expect(received).toEqual([named('A'), named('B')])
  })

  it('is read once by a hidden tab, and followed when the tab is shown', async () => {
    const page = Object.assign(new EventTarget(), { hidden: true })
    vi.stubGlobal('document', page)
    const show = (isShown: boolean) => {
      page.hidden = !isShown
      page.dispatchEvent(new Event('visibilitychange'))
      return flush()
    }
    const { streams, received } = followUsers()
    await flush()
    streams[0]?.send(named('A'))
    await flush()
    expect([received, streams[0]?.signal?.aborted]).toEqual([[named('A')], true])
    await vi.advanceTimersByTimeAsync(60_000)
    expect(streams).toHaveLength(1)
    await show(true)
    expect(streams).toHaveLength(2)
    await show(false)
    expect(streams[1]?.signal?.aborted).toBe(true)
  })

  it('passes on the last of the results that come while the client writes, when it has settled', async () => {
    const { streams, received, core } = followUsers()
    await flush()
    const response = Promise.withResolvers<Response>()
    vi.mocked(fetch).mockImplementationOnce(() => response.promise)
    const write = core.fetch(url, { method: 'POST', headers: { 'idempotency-key': 'one' } })
    await flush()
    for (const name of ['A', 'B']) streams[0]?.send(named(name))
    await vi.advanceTimersByTimeAsync(1_000)
    response.resolve(Response.json({}))
    await write
    await vi.advanceTimersByTimeAsync(400)
    expect(received).toEqual([])
    streams[0]?.send(named('C'))
    await vi.advanceTimersByTimeAsync(200)
    streams[0]?.send(named('D'))
    await flush()
    expect(received).toEqual([named('C'), named('D')])
  })

  it('passes on its results after five seconds also if the client still writes, and at its end', async () => {
    const { streams, received, core } = followUsers()
    await flush()
    vi.mocked(fetch).mockImplementationOnce(() => new Promise(() => {}))
    void core.fetch(url, { method: 'POST', headers: { 'idempotency-key': 'one' } }).catch(() => {})
    await flush()
    streams[0]?.send(named('A'))
    await vi.advanceTimersByTimeAsync(4_900)
    expect(received).toEqual([])
    await vi.advanceTimersByTimeAsync(200)
    expect(received).toEqual([named('A')])
    streams[0]?.send(named('B'))
    streams[0]?.complete()
    await flush()
    expect(received).toEqual([named('A'), named('B'), 'complete'])
  })
})

it('a loop that is slower than its results ends the stream, and continues it without a gap', async () => {
  const { streams, core } = subscribeByStream()
  const results = follow<{ events: { id: string } }>(
    Object.assign((() => {}) as unknown as Send, { core, options: { url } }),
    query,
  )
  const first = results.next()
  await flush()
  const stream = streams.at(-1)
  for (let number = 1; number <= 1_001; number += 1) stream?.send(event(`evt_${number}`))
  await flush()
  expect((await first).value?.data.events.id).toBe('evt_1')
  expect(stream?.signal?.aborted).toBe(true)
  const opened = streams.length
  for (let number = 2; number <= 1_001; number += 1)
    expect((await results.next()).value?.data.events.id).toBe(`evt_${number}`)
  await flush()
  expect(streams).toHaveLength(opened + 1)
  expect(streams.at(-1)?.request.variables).toEqual({ after: 'evt_1001' })
})

describe('a stream', () => {
  it.each([
    ['RATE_LIMITED', 'limited'],
    ['SERVICE_UNAVAILABLE', 'unavailable'],
  ])('that ends with %s starts again later', async (code, reason) => {
    const { streams, received, waits, nextStream } = subscribeByStream()
    await flush()
    streams[0]?.send(event('evt_1'))
    streams[0]?.send({ data: null, errors: [{ message: 'Later.', extensions: { code } }] })
    streams[0]?.complete()
    const next = await nextStream()
    expect(next.request.variables).toEqual({ after: 'evt_1' })
    expect([received, waits]).toEqual([[event('evt_1')], [reason]])
  })

  it('that ends with another error is over', async () => {
    const { streams, received } = subscribeByStream()
    const rejected: Result = { errors: [{ message: 'Too old.', extensions: { code: 'BAD_USER_INPUT' } }] }
    await flush()
    streams[0]?.send(rejected)
    streams[0]?.complete()
    await vi.advanceTimersByTimeAsync(60_000)
    expect([received, streams.length]).toEqual([[rejected, 'complete'], 1])
  })

  it('starts again after a proxy has answered with pages, and ends if the URL is that of a page', async () => {
    const { streams, received, nextStream } = subscribeByStream()
    await flush()
    const page = (status: number) => async () =>
      new Response('<html>', { status, headers: { 'content-type': 'text/html' } })
    for (let answers = 0; answers < 6; answers += 1) vi.mocked(fetch).mockImplementationOnce(page(502))
    streams[0]?.break()
    await nextStream()
    expect([received, streams.length]).toEqual([[], 2])
    vi.mocked(fetch).mockImplementationOnce(page(200))
    streams[1]?.break()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(received).toMatchObject([{ message: expect.stringContaining(`${url} answered 200 (text/html)`) }])
  })

  it('that ends after its first result each time is not opened at once for ever', async () => {
    const { streams } = subscribeByStream()
    for (let waited = 0; waited < 60; waited += 1) {
      streams.at(-1)?.send({ data: null, extensions: { position: 'here' } })
      await flush()
      streams.at(-1)?.break()
      await vi.advanceTimersByTimeAsync(1_000)
    }
    expect(streams.length).toBeLessThan(12)
  })

  it('in which nothing comes for 30 seconds is replaced', async () => {
    const { streams, nextStream } = subscribeByStream()
    await flush()
    for (let pings = 0; pings < 4; pings += 1) {
      await vi.advanceTimersByTimeAsync(20_000)
      streams[0]?.send({ data: null })
    }
    expect(streams).toHaveLength(1)
    await nextStream()
    expect(streams).toHaveLength(2)
    expect(streams[0]?.signal?.aborted).toBe(true)
  })

  it('of a hidden tab ends, and starts again when the tab is shown', async () => {
    const page = Object.assign(new EventTarget(), { hidden: true })
    vi.stubGlobal('document', page)
    const show = (isShown: boolean) => {
      page.hidden = !isShown
      page.dispatchEvent(new Event('visibilitychange'))
      return flush()
    }
    const { streams, received } = subscribeByStream()
    await flush()
    expect(streams).toHaveLength(0)
    await show(true)
    streams[0]?.send(event('evt_1'))
    await flush()
    await show(false)
    expect([streams.length, streams[0]?.signal?.aborted]).toEqual([1, true])
    await show(true)
    expect(streams[1]?.request.variables).toEqual({ after: 'evt_1' })
    expect(received).toEqual([event('evt_1')])
  })

  it('that is stopped is closed, and calls nothing', async () => {
    const { streams, received, stop } = subscribeByStream()
    await flush()
    stop()
    await vi.advanceTimersByTimeAsync(60_000)
    expect([received, streams.length, streams[0]?.signal?.aborted]).toEqual([[], 1, true])
  })
})

/** A WebSocket of a gateway that acknowledges connections and subscriptions, and answers no ping. */
class SilentSocket {
  static readonly opened: SilentSocket[] = []
  static readonly OPEN = 1
  static readonly CLOSING = 2
  static readonly CONNECTING = 0
  static readonly CLOSED = 3
  readyState = 1
  onopen?: () => void
  onclose?: (event: object) => void
  onmessage?: (message: { data: string }) => void
  readonly sent: { type: string; payload?: object }[] = []

  constructor() {
    SilentSocket.opened.push(this)
    setTimeout(() => this.onopen?.())
  }

  send(text: string): void {
    const message = JSON.parse(text)
    this.sent.push(message)
    if (message.type === 'connection_init') setTimeout(() => this.onmessage?.({ data: '{"type":"connection_ack"}' }))
  }

  close(): void {
    this.readyState = 3
  }
}

it('a WebSocket that answers no ping, as after the sleep of a device, is replaced', async () => {
  vi.stubGlobal('WebSocket', SilentSocket)
  const core = createCore({ url, token: async () => 'one', clientName: 'app' })
  onTestFinished(() => core.close())
  core.subscribe({ query }, { next() {}, error() {}, complete() {} })
  const { opened } = SilentSocket
  await vi.advanceTimersByTimeAsync(20_000)
  expect(opened).toHaveLength(1)
  expect(opened[0]?.sent.map(({ type }) => type)).toEqual(['connection_init', 'subscribe', 'ping'])
  expect(opened[0]?.sent[0]?.payload).toEqual({ authorization: 'Bearer one', 'graphql-client-name': 'app' })
  await vi.advanceTimersByTimeAsync(12_000)
  expect(opened).toHaveLength(2)
  expect(opened[1]?.sent.map(({ type }) => type)).toEqual(['connection_init', 'subscribe'])
})
