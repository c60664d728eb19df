import { once } from 'node:events'

/** `NODE_OPTIONS` of a process whose garbage another process can collect. */
export const inspectorOptions = '--inspect=127.0.0.1:0'

/**
 * Collects the garbage of a gateway five times, and returns the smallest used heap in bytes.
 *
 * @param output the output of the process, which contains the address of its inspector
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

/** Reads one value of a gateway's `/metrics`. */
export async function readMetric(address: string, series: string): Promise<number> {
  const text = await (await fetch(`${address}/metrics`)).text()
  const line = text.split('\n').find((text) => text.startsWith(`${series} `))
  if (line === undefined) throw new Error(`There is no metric ${series}`)
  return Number(line.slice(series.length))
}
