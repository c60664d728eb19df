import { expect, it } from 'vitest'
import { checkGateway } from './check-gateway.ts'

it('a read shows what was acknowledged before it was sent, by whomever it was written', async () => {
  const { writes, hits, results } = await checkGateway(400, 8)
  expect(writes).toBeGreaterThan(12)
  expect(hits).toBeGreaterThan(25)
  expect(results).toBeGreaterThan(8)
})
