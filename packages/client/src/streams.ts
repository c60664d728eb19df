import { createClient } from 'graphql-sse'
import { type FieldError, RequestError } from './errors.ts'
import type { Result } from './request.ts'
import type { Connection, Transport } from './transport.ts'
import { maxSilenceMilliseconds } from './waits.ts'

/** A connection for each subscription. */
export function createStreams({ url, fetch }: Connection): Transport {
  return (request, sink) => {
    let failure: unknown
    async function fetchFn(input: string, init: RequestInit): Promise<Response> {
      try {
        const response = await fetch(input, init)
        const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
        if (response.ok && isStream) return endSilence(response, init.signal)
        const { errors = [] } = (await response.json()) as { errors?: FieldError[] }
        throw new RequestError(errors)
      } catch (error) {
        failure = error
        throw error
      }
    }
    return createClient({ url, fetchFn, retryAttempts: 0 }).subscribe(request as { query: string }, {
      next: (result) => sink.next(result as Result),
      // Without a failure of the request, the stream broke off.
      error: (error) => sink.error(failure ?? new TypeError(String(error))),
      complete: () => sink.complete(),
    })
  }
}

/** Ends a stream in which nothing comes. */
function endSilence(response: Response, signal?: AbortSignal | null): Response {
  let timer: ReturnType<typeof setTimeout> | undefined
  const stop = () => clearTimeout(timer)
  signal?.addEventListener('abort', stop)
  const watch = (controller: TransformStreamDefaultController) => {
    stop()
    timer = setTimeout(() => controller.error(new TypeError('The stream is silent.')), maxSilenceMilliseconds)
  }
  const transform = (chunk: Uint8Array, controller: TransformStreamDefaultController) => {
    watch(controller)
    controller.enqueue(chunk)
  }
  const body = response.body?.pipeThrough(new TransformStream({ start: watch, transform, flush: stop }))
  return new Response(body ?? null, response)
}
