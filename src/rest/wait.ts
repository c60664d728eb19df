import type { SentResult, SubscriptionValues } from '@fusion-gateway/gateway-kit'
import type { FastifyRequest } from 'fastify'

/** The longest wait, in seconds. */
const maxSeconds = 60

/**
 * How long a client wants to wait for another response than the one that it has, in seconds: `Prefer: wait=30` beside
 * `If-None-Match`. A longer wait is cut to a minute. Undefined if it does not want to wait, or sends no time: what is
 * not understood is ignored.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7240#section-4.3
 */
export function preferredWait({ headers }: Pick<FastifyRequest, 'headers'>): number | undefined {
  if (headers['if-none-match'] === undefined) return undefined
  const { prefer = [] } = headers
  const [, text] = /(?:^|[,\s])wait\s*=\s*"?(\d{1,9})"?\s*(?:[,;]|$)/i.exec([prefer].flat().join(', ')) ?? []
  const seconds = Number(text ?? 0)
  return seconds > 0 ? Math.min(seconds, maxSeconds) : undefined
}

/**
 * Waits for the first of some results that a client does not have.
 *
 * @returns it; or the last one, when the time is over
 * @throws what the results throw
 */
export async function awaitChange<Result extends SentResult>(
  results: SubscriptionValues<Result>,
  seconds: number,
  isKnown: (result: Result) => boolean,
): Promise<Result | undefined> {
  let last: Result | undefined
  const timer = setTimeout(() => void results.return(), seconds * 1_000)
  try {
    for (;;) {
      const { done, value } = await results.next()
      if (done) return last
      last = value
      if (!isKnown(value)) return value
    }
  } finally {
    clearTimeout(timer)
    await results.return()
  }
}
