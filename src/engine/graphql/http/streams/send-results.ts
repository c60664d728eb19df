import type { ExecutionResult } from 'graphql'
import type { Logger } from '../../../telemetry/logger.ts'
import { toClientError } from '../../operation/client-error.ts'
import type { SubscriptionAnswer } from '../../operation/subscribe.ts'

interface Receiver {
  /** Aborts when the client wants no more results. */
  readonly signal: AbortSignal
  /** Resolves when there is room for the next result. */
  send(result: ExecutionResult): Promise<void>
}

/** Sends the results of a subscription until they end, or until the signal aborts. Never rejects. */
export async function sendResults(
  events: SubscriptionAnswer['events'],
  { signal, send }: Receiver,
  log: Logger,
): Promise<void> {
  const stop = () => void (Symbol.asyncIterator in events && events.return?.())
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  try {
    if (Symbol.asyncIterator in events) for await (const result of events) await send(result)
    else await send(events)
  } catch (error) {
    // Nobody is left to whom a result could be sent.
    if (!signal.aborted) await send({ errors: [toClientError(error, log)] }).catch(() => undefined)
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
