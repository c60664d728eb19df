import { once } from 'node:events'

/** What `NODE_OPTIONS` must be for a process whose garbage can be collected from outside. */
export const inspected = '--inspect=127.0.0.1:0'

/**
 * The heap that a gateway uses after its garbage was collected, in bytes: the least of some samples.
 *
 * @param output what the process has printed, with the address that its inspector listens on
 */
export async function usedHeap(address: string, output: string): Promise<number> {
  const inspector = /Debugger listening on (ws:\S+)/.exec(output)?.[1]
  if (inspector === undefined) throw new Error('The gateway has no inspector')
  const socket = new WebSocket(inspector)
  await once(socket, 'open')
  const samples: number[] = []
  for (let id = 1; id <= 5; id += 1) {
    socket.send(JSON.stringify({ id, method: 'HeapProfiler.collectGarbage' }))
    await once(socket, 'message')
    samples.push(await readMetric(address, 'nodejs_heap_size_used_bytes'))
  }
  socket.close()
  await once(socket, 'close')
  return Math.min(...samples)
}

/** One number of a gateway's `/metrics`. */
export async function readMetric(address: string, series: string): Promise<number> {
  const text = await (await fetch(`${address}/metrics`)).text()
  const line = text.split('\n').find((one) => one.startsWith(`${series} `))
  if (line === undefined) throw new Error(`There is no metric ${series}`)
  return Number(line.slice(series.length))
}
