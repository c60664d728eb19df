import { TokenError } from '@fusion-gateway/client'
import { createTokens } from '@fusion-gateway/client/tokens'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'

// Not the timers: code of earlier files would run for each.
beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'performance'], now: new Date('2026-01-01T00:00:00Z') }))
afterEach(() => void vi.useRealTimers())

/** A backend whose clock is right, and whose tokens live for 15 minutes. */
function createBackend(lifetimeSeconds = 900, sendsDuration = false) {
  let tokens = 0
  const fetchToken = vi.fn(async () => {
    tokens += 1
    // The clock of the server does not know that of the device.
    const now = Date.parse('2020-01-01T00:00:00Z') + performance.now()
    const expiresAt = new Date(now + lifetimeSeconds * 1_000).toISOString()
    const body = {
      accessToken: `token ${tokens}`,
      expiresAt,
      ...(sendsDuration && { expiresInSeconds: lifetimeSeconds }),
    }
    return Response.json(body, sendsDuration ? {} : { headers: { date: new Date(now).toUTCString() } })
  })
  return { fetchToken, token: createTokens({ fetchToken }) }
}

it.each([true, false])(
  'a token is renewed before it ends, whatever the clock of the device says',
  async (sendsDuration) => {
    const { fetchToken, token } = createBackend(900, sendsDuration)
    expect(await Promise.all([token(), token()])).toEqual(['token 1', 'token 1'])
    vi.setSystemTime(new Date('2050-01-01'))
    expect(await token()).toBe('token 1')
    vi.advanceTimersByTime(838_000)
    expect(await token()).toBe('token 1')
    vi.setSystemTime(new Date('1990-01-01'))
    vi.advanceTimersByTime(3_000)
    expect(await Promise.all([token(), token()])).toEqual(['token 2', 'token 2'])
    expect(fetchToken).toHaveBeenCalledTimes(2)
  },
)

it('a token that lives for a minute is used for most of it', async () => {
  const { token } = createBackend(60)
  await token()
  vi.advanceTimersByTime(43_000)
  expect(await token()).toBe('token 1')
  vi.advanceTimersByTime(3_000)
  expect(await token()).toBe('token 2')
})

it('a token that was rejected is replaced once for all', async () => {
  const { fetchToken, token } = createBackend()
  const first = await token()
  expect(await Promise.all([token(first), token(first)])).toEqual(['token 2', 'token 2'])
  // A response that comes late was rejected for the token before.
  expect(await token(first)).toBe('token 2')
  expect(fetchToken).toHaveBeenCalledTimes(2)
})

it('a token is used to its end while the backend does not answer, and not after the session has ended', async () => {
  const { fetchToken, token } = createBackend()
  await token()
  vi.advanceTimersByTime(850_000)
  fetchToken.mockRejectedValueOnce(new TypeError('fetch failed'))
  expect(await token()).toBe('token 1')
  fetchToken.mockResolvedValueOnce(new Response(null, { status: 503 }))
  expect(await token()).toBe('token 1')
  fetchToken.mockResolvedValueOnce(Response.json({ message: 'Sign in first.' }, { status: 401 }))
  await expect(token()).rejects.toMatchObject({ message: 'Sign in first.', isSignedOut: true })
  vi.advanceTimersByTime(51_000)
  fetchToken.mockRejectedValueOnce(new TypeError('fetch failed'))
  await expect(token()).rejects.toThrow('fetch failed')
  expect(await token()).toBe('token 2')
})

it('a tab asks for itself if another one of its session holds the lock and does not end, and says why there is no token', async () => {
  const request = () => Promise.reject(new DOMException('The operation timed out.', 'TimeoutError'))
  vi.stubGlobal('window', globalThis)
  vi.stubGlobal('navigator', { locks: { request } })
  onTestFinished(() => void vi.unstubAllGlobals())
  const { fetchToken } = createBackend()
  const token = createTokens({ fetchToken, session: 'one', purpose: 'page' })
  expect(await token()).toBe('token 1')
  fetchToken.mockResolvedValueOnce(new Response(null, { status: 401 }))
  await expect(token('token 1')).rejects.toThrow(TokenError)
})

it('an error says why there is no token', async () => {
  const failing = (response: Response) => createTokens({ fetchToken: async () => response })()
  const headers = { 'retry-after': '7' }
  const limited = failing(Response.json({ code: 'RATE_LIMITED', message: 'Later.' }, { status: 429, headers }))
  await expect(limited).rejects.toMatchObject({
    code: 'RATE_LIMITED',
    message: 'Later.',
    retryAfterSeconds: 7,
    isTemporary: true,
  })
  await expect(failing(new Response('<h1>Bad gateway</h1>', { status: 502 }))).rejects.toThrow('502')
  await expect(failing(Response.json({}))).rejects.toThrow(TokenError)
  const page = new Response('<html>', { headers: { 'content-type': 'text/html' } })
  await expect(failing(page)).rejects.toThrow('answered 200 without a token (text/html)')
  await expect(failing(Response.json(null, { status: 500 }))).rejects.toThrow('500')
})

describe('the tabs of a session', () => {
  let sessions = 0
  beforeEach(() => {
    sessions += 1
    vi.stubGlobal('window', globalThis)
  })
  afterEach(() => void vi.unstubAllGlobals())
  const lockNames = async () => {
    const { held = [] } = await navigator.locks.query()
    return held.flatMap(({ name = '' }) => (name.startsWith('fusion-token') ? [name] : []))
  }
  function openTab(fetchToken: () => Promise<Response>, purpose = 'page', session = `session ${sessions}`) {
    const token = createTokens({ fetchToken, session, purpose })
    onTestFinished(() => token.close())
    return token
  }
  it('share a token, and not that of another purpose or session', async () => {
    const { fetchToken } = createBackend()
    const tabs = [openTab(fetchToken), openTab(fetchToken), openTab(fetchToken, 'other gateway')]
    const others = [openTab(fetchToken, 'page', `session ${sessions} x`), openTab(fetchToken, 'page', 'session "')]
    const read: string[] = []
    for (const token of [...tabs, ...others]) read.push(await token())
    expect(read).toEqual(['token 1', 'token 1', 'token 2', 'token 3', 'token 4'])
  })

  it('forget it at a sign-out, and take none from before it', async () => {
    const { fetchToken } = createBackend()
    const [first, second] = [openTab(fetchToken), openTab(fetchToken)]
    expect([await first(), await second()]).toEqual(['token 1', 'token 1'])
    const closed = new AbortController()
    const left = new Promise<void>((resolve) => second.onSignOut?.(resolve, closed.signal))
    vi.advanceTimersByTime(1)
    first.signOut()
    expect(await first()).toBe('token 2')
    await left
    expect(await second()).toBe('token 2')
    expect((await lockNames()).filter((name) => name.includes('token 1'))).toEqual([])
    closed.abort()
  })

  it('keep no token that arrives after the sign-out', async () => {
    const late = Promise.withResolvers<Response>()
    const { fetchToken } = createBackend()
    fetchToken.mockReturnValueOnce(late.promise)
    const token = openTab(fetchToken)
    const waiting = token()
    await vi.waitFor(() => expect(fetchToken).toHaveBeenCalledOnce())
    token.signOut()
    late.resolve(Response.json({ accessToken: 'of the first person', expiresInSeconds: 900 }))
    expect(await waiting).toBe('token 1')
    expect(await token()).toBe('token 1')
    expect((await lockNames()).join()).not.toContain('first person')
  })

  it('release their locks when they are closed', async () => {
    const token = openTab(createBackend().fetchToken)
    await token()
    expect(await lockNames()).toHaveLength(1)
    token.close()
    await vi.waitFor(async () => expect(await lockNames()).toEqual([]))
    await expect(token()).rejects.toThrow('closed')
  })

  it('are not disturbed by locks of other scripts', async () => {
    const released = Promise.withResolvers<void>()
    const name = `fusion-token ${JSON.stringify([`session ${sessions}`, 'page'])}`
    for (const text of ['{', '{}', 'null', '{"token":7}'])
      void navigator.locks.request(`${name} ${text}`, () => released.promise)
    expect(await openTab(createBackend().fetchToken)()).toBe('token 1')
    released.resolve()
  })

  it('are not all pages: an empty session, and one without a purpose, are refused', () => {
    const { fetchToken } = createBackend()
    expect(() => openTab(fetchToken, 'page', '')).toThrow('`session` is empty')
    expect(() => createTokens({ fetchToken, session: 'one' } as never)).toThrow('`purpose` is empty')
  })
})

it('a server that renders pages holds no locks', async () => {
  const { fetchToken } = createBackend()
  const token = createTokens({ fetchToken, session: 'one', purpose: 'page' })
  await token()
  const { held } = await navigator.locks.query()
  expect(held).toEqual([])
})
