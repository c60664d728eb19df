import { expect, it } from 'vitest'
import { checkGateway } from './check-gateway.ts'

it('each of thousands of reads shows what was acknowledged before it was sent, by whomever it was written', async () => {
  const { writes, hits, results } = await checkGateway(3_000, 24)
  expect(writes).toBeGreaterThan(100)
  expect(hits).toBeGreaterThan(200)
  expect(results).toBeGreaterThan(200)
})
