import { parentPort } from 'node:worker_threads'
import type { ReceivedResponse } from '../old-service/send.ts'
import { type CompareTask, compareAll } from './comparer.ts'

parentPort?.on('message', async ({ route, old, new: other }: CompareTask) => {
  parentPort?.postMessage(await compareAll(route, withBuffer(old), withBuffer(other)))
})

/** A buffer that was sent to a thread arrives as plain bytes. */
function withBuffer(response: ReceivedResponse): ReceivedResponse {
  const { buffer, byteOffset, byteLength } = response.body
  return { ...response, body: Buffer.from(buffer, byteOffset, byteLength) }
}
