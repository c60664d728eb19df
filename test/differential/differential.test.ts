import { afterAll, beforeAll, expect, it } from 'vitest'
import { runOperations } from './run-operations.ts'
import { createWorld, type World } from './world/world.ts'

/**
 * `npm run suite -- differential` sets both (run.ts). The 14 operations of `npm test` have each kind: queries, those of
 * a router, those with writes between, mutations and requests to REST.
 */
const [someOperations, someSeed] = process.env['TEST_ALL'] ? ['45', '1'] : ['14', '102']
const { DIFFERENTIAL_OPERATIONS = someOperations, DIFFERENTIAL_SEED = someSeed } = process.env
const operations = Number(DIFFERENTIAL_OPERATIONS)
const seed = Number(DIFFERENTIAL_SEED)

let world: World

beforeAll(async () => {
  world = await createWorld(seed)
})
afterAll(() => world.close())

/** How many responses came from the memory. */
async function hits(): Promise<number> {
  const { body } = await world.app.app.inject('/metrics')
  return Number(/^fusion_\w*\{outcome="hit"\} (\d+)$/m.exec(body)?.[1])
}

it('each response to a random operation is that of graphql-js over the plain rows', async () => {
  const onProgress = (number: number) => {
    if (number % 1_000 === 0) process.stderr.write(`${number} operations\n`)
  }
  const mismatches = await runOperations(world, { operations, seed, onProgress })
  // Not as a difference of arrays, which would escape and shorten the descriptions.
  if (mismatches.length > 0) expect.fail(mismatches.join('\n\n'))
  // Some of the responses were kept ones. Those to a router, one in ten, and those with history or groups are not.
  expect(await hits()).toBeGreaterThan((operations * 0.9) / 4)
}, 86_400_000)
