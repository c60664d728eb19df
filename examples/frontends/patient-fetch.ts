const maxAttempts = 4

/**
 * `fetch` that sends a request again after 429 and 503, when `Retry-After` says so. Give every mutation an `Idempotency-Key`: the
 * gateway may have executed a mutation before it answered 503.
 */
export const patientFetch: typeof fetch = async (input, init) => {
  for (let attempt = 1; ; attempt += 1) {
    const response = await fetch(input, init)
    const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
    if (![429, 503].includes(response.status) || Number.isNaN(seconds) || attempt === maxAttempts) return response
    await response.body?.cancel()
    await wait(seconds * 1_000, init?.signal)
  }
}

/** Rejects when the caller gives up. */
function wait(milliseconds: number, signal?: AbortSignal | null): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds)
    signal?.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })
}
