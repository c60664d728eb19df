// A hostile client in a thread of its own, so that it does not delay the other clients.
import { parentPort, workerData } from 'node:worker_threads'
import { attacks } from '../../support/attacks.ts'

const { name, address, key } = workerData as { name: string; address: string; key: string }
const statuses: Record<string, number> = {}
const stopping = new AbortController()
parentPort?.once('message', () => stopping.abort())
const onAnswer = (status: number) => {
  statuses[status] = (statuses[status] ?? 0) + 1
}
await attacks[name]?.({ address, key, onAnswer }, stopping.signal)
parentPort?.postMessage(statuses)
