import { once } from 'node:events'

/** `NODE_OPTIONS` of a process whose garbage another process can collect. */
export const inspectorOptions = '--inspect=127.0.0.1:0'

/**
 * Collects the garbage of a gateway five times, and returns the smallest used heap in bytes. `/metrics` has the heap
 * too, but gives the same response for a second.
 *
 * @param output the output of the process, which contains the address of its inspector
 */
export async function usedHeap(output: string): Promise<number> {
  const inspector = /Debugger listening on (ws:\S+)/.exec(output)?.[1]
  if (inspector === undefined) throw new Error('The gateway has no inspector')
  const socket = new WebSocket(inspector)
  await once(socket, 'open')
  const samples: number[] = []
  for (let run = 1; run <= 5; run += 1) {
    await call('HeapProfiler.collectGarbage')
    const { result } = await call('Runtime.evaluate', { expression: 'process.memoryUsage().heapUsed' })
    samples.push(result.result.value)
  }
  socket.close()
  await once(socket, 'close')
  return Math.min(...samples)

  async function call(method: string, params?: object) {
    socket.send(JSON.stringify({ id: 1, method, params }))
    const [{ data }] = await once(socket, 'message')
    return JSON.parse(data)
  }
}
