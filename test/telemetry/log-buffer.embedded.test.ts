import { setTimeout } from 'node:timers/promises'
import { createLogBuffer } from '@fusion-gateway/telemetry'
import { describe, expect, it, vi } from 'vitest'

/** A sink that fails on demand, and the buffer in front of it. */
function createBuffer({ maxBytes = 1_000 } = {}) {
  const writes: string[] = []
  const dropped: number[] = []
  const sink = { isFull: false, mostBytes: Number.POSITIVE_INFINITY }
  const write = (chunk: Buffer) => {
    if (sink.isFull) throw new Error('ENOSPC')
    const text = chunk.toString('utf8', 0, sink.mostBytes)
    writes.push(text)
    return Buffer.byteLength(text)
  }
  let drops = 0
  const buffer = createLogBuffer({
    sink: write,
    maxBytes,
    onDrop: () => {
      drops += 1
    },
    onRecover(count) {
      dropped.push(count)
      buffer.write(`${count} dropped\n`)
    },
  })
  return { sink, buffer, writes, written: () => writes.join(''), dropped, drops: () => drops }
}

const linesOf = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => `line ${from + index}\n`.padStart(100))

describe('the buffer of the log', () => {
  it('writes the lines of a moment together, and long ones in chunks that a pipe takes as a whole', async () => {
    const { buffer, writes, written } = createBuffer({ maxBytes: 100_000 })
    const lines = linesOf(0, 100)
    for (const line of lines) buffer.write(line)
    await expect.poll(written).toBe(lines.join(''))
    expect(writes.map((text) => text.length)).toEqual([4_000, 4_000, 2_000])
    buffer.write(`${'é'.repeat(3_000)}\n`)
    buffer.write('short\n')
    await expect.poll(() => writes.slice(3)).toEqual([`${'é'.repeat(3_000)}\n`, 'short\n'])
  })

  it('drops lines that exceed its bound, counts them, and names them once in their place', async () => {
    const { buffer, sink, written, drops, dropped } = createBuffer()
    sink.isFull = true
    const [kept, lost, later] = [linesOf(0, 10), linesOf(10, 15), linesOf(15, 18)]
    for (const line of [...kept, ...lost]) buffer.write(line)
    expect(drops()).toBe(5)
    sink.isFull = false
    await expect.poll(() => dropped).toEqual([5])
    for (const line of later) buffer.write(line)
    await expect.poll(written).toBe([...kept, '5 dropped\n', ...later].join(''))
    expect(drops()).toBe(5)
  })

  it('says for how long the sink has accepted nothing', async () => {
    const { buffer, sink } = createBuffer()
    buffer.write('line\n')
    expect(buffer.stalledSeconds()).toBe(0)
    sink.isFull = true
    const startedAt = performance.now()
    await expect.poll(buffer.stalledSeconds).toBeGreaterThan(0.1)
    expect(buffer.stalledSeconds()).toBeLessThanOrEqual((performance.now() - startedAt) / 1_000)
    sink.isFull = false
    await expect.poll(buffer.stalledSeconds).toBe(0)
  })

  it('continues in the middle of a line that was written in part', async () => {
    const { buffer, sink, written } = createBuffer()
    sink.mostBytes = 30
    for (const line of linesOf(0, 10)) buffer.write(line)
    await expect.poll(written).toBe(linesOf(0, 10).join(''))
  })

  it('drops a line that is longer than its bound, and takes the next one', async () => {
    const { buffer, written } = createBuffer()
    buffer.write('x'.repeat(2_000))
    await expect.poll(written).toBe('1 dropped\n')
    buffer.write('next\n')
    await expect.poll(written).toBe('1 dropped\nnext\n')
  })

  it('writes all lines at the end, each once', async () => {
    const { buffer, written } = createBuffer({ maxBytes: 10_000 })
    const lines = linesOf(0, 60)
    for (const line of lines) buffer.write(line)
    buffer.end()
    expect(written()).toBe(lines.join(''))
    await setTimeout(50)
    expect(written()).toBe(lines.join(''))
  })

  it('waits a second at the end for a sink that takes nothing', () => {
    const { buffer, sink } = createBuffer()
    sink.isFull = true
    buffer.write('line\n')
    const started = performance.now()
    buffer.end()
    expect(performance.now() - started).toBeGreaterThan(990)
    expect(performance.now() - started).toBeLessThan(10_000)
  })
})

it('the buffer does not try to write for each line while the sink takes nothing', async () => {
  const write = vi.fn(() => {
    throw new Error('EAGAIN')
  })
  const buffer = createLogBuffer({ sink: write, onDrop() {}, onRecover() {} })
  for (let number = 0; number < 10_000; number += 1) buffer.write('x'.repeat(1_000))
  expect(write).toHaveBeenCalledTimes(1)
  await expect.poll(() => write.mock.calls.length).toBeGreaterThan(2)
})
