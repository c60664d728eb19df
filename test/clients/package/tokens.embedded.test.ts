import { TokenError } from '@fusion-gateway/client'
import { createTokens } from '@fusion-gateway/client/tokens'
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest'

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
  vi.stubGlobal('navigator', { locks: { request } })
  onTestFinished(() => void vi.unstubAllGlobals())
  const { fetchToken } = createBackend()
  const token = createTokens({ fetchToken, session: 'one' })
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
})
