import type { ExecutionResult } from 'graphql'
import { isAsyncIterable, type Plugin } from 'graphql-yoga'
import { createAlarm } from '../../alarm.ts'
import { Interruption } from '../../interruption.ts'
import { breakingWhenFlushed } from './breaking-when-flushed.ts'
import { apolloMultipart, type Results } from './negotiate.ts'
import type { YogaInput } from './yoga-input.ts'

/** Teaches Yoga Apollo's protocol. Yoga's own multipart responses are those of `@defer`. */
export function useApolloMultipart(heartbeatMilliseconds: number): Plugin<object, YogaInput> {
  return {
    onResultProcess({ request, serverContext, setResultProcessor }) {
      if (request.headers.get('accept') !== apolloMultipart) return
      setResultProcessor((results) => {
        const body = streamOf(results as Results, heartbeatMilliseconds, serverContext.flushed)
        return new Response(body, { headers: { 'content-type': apolloMultipart } })
      }, 'multipart/mixed')
    },
  }
}

/** A stream of bytes that asks for the next part when the buffers of the connection have room. */
function streamOf(
  results: Results,
  heartbeatMilliseconds: number,
  flushed: YogaInput['flushed'],
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder()
  const iterator = isAsyncIterable(results) ? results[Symbol.asyncIterator]() : undefined
  const messages = iterator ? withHeartbeats(iterator, heartbeatMilliseconds) : [{ payload: results }]
  const parts = breakingWhenFlushed(partsOf(messages), flushed)
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await parts.next()
      if (done) controller.close()
      else controller.enqueue(encoder.encode(value))
    },
    async cancel() {
      // First, because a generator that waits for a result does not return.
      await iterator?.return?.()
      await parts.return?.()
    },
  })
}

/**
 * The first boundary. Each part ends with the next one, because clients read a part when they see the boundary after
 * it.
 */
const firstBoundary = '\r\n--graphql'
const lastBoundary = '--\r\n'

const partOf = (message: object) =>
  `\r\ncontent-type: application/json; charset=utf-8\r\n\r\n${JSON.stringify(message)}\r\n--graphql`

/** Tells Apollo's clients why the connection ends. A payload that is not null would be a result of the subscription. */
const transportError = ({ message, code }: Interruption) => ({
  payload: null,
  errors: [{ message, extensions: { code } }],
})

async function* partsOf(messages: AsyncIterable<object> | Iterable<object>): AsyncGenerator<string> {
  yield firstBoundary
  try {
    for await (const message of messages) yield partOf(message)
  } catch (error) {
    if (error instanceof Interruption) yield partOf(transportError(error))
    throw error
  }
  yield lastBoundary
}

/** The messages of results. While there is no result, an empty message keeps the connection open. */
async function* withHeartbeats(
  iterator: AsyncIterator<ExecutionResult>,
  milliseconds: number,
): AsyncGenerator<{ readonly payload?: ExecutionResult }> {
  const alarm = createAlarm()
  try {
    for (;;) {
      const next = iterator.next()
      let hasArrived = false
      // One handler for all heartbeats: `Promise.race` would add one for each, which stay until the result arrives.
      const note = () => {
        hasArrived = true
        alarm.ring()
      }
      next.then(note, note)
      for (;;) {
        await alarm.wait(milliseconds)
        if (hasArrived) break
        yield {}
      }
      const result = await next
      if (result.done) return
      yield { payload: result.value }
    }
  } finally {
    await iterator.return?.()
  }
}
