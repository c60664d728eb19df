import { once } from 'node:events'
import { Writable } from 'node:stream'
import { expect, it } from 'vitest'
import { writeTo } from '../../src/cli/actions/transfer.ts'

it('a slow reader slows the writer down', async () => {
  let read = ''
  const slow = new Writable({
    highWaterMark: 10,
    write(chunk, _encoding, done) {
      read += chunk
      setImmediate(done)
    },
  })
  for (let count = 0; count < 100; count += 1) {
    await writeTo(slow, '0123456789\n')
    expect(slow.writableLength).toBeLessThan(20)
  }
  expect(read).toHaveLength(1_100)
})

it('a write after one that failed fails with its error, and does not wait', async () => {
  const full = new Writable({
    highWaterMark: 1_000,
    write: (_chunk, _encoding, done) => setImmediate(done, new Error('No space left')),
  })
  const failed = once(full, 'error')
  await writeTo(full, 'a')
  await failed
  await expect(writeTo(full, 'b')).rejects.toThrow('No space left')
})
