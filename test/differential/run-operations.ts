import type { Random } from '../../src/domain/resource.ts'
import { createRandom } from '../../src/domain/seed/seed.ts'
import { runQuery } from './compare/run-query.ts'
import { runMutation } from './mutations/run-mutation.ts'
import { runRoute } from './rest/run-route.ts'
import type { World } from './world/world.ts'
import { runBetweenWrites } from './writes/run-between-writes.ts'

export interface RunOptions {
  readonly operations: number
  readonly seed: number
  /** Called after each operation. */
  readonly onProgress?: (number: number) => void
}

/** After so many mismatches a run ends: more of them say nothing new. */
const maxMismatches = 3

/** Runs a query as a router sends it to a subgraph: of `_entities`. One in three has writes between. */
function runEntities(world: World, random: Random): Promise<string | undefined> {
  const run = random.below(3) === 0 ? runBetweenWrites : runQuery
  return run({ ...world, ...world.subgraph }, random, '_entities')
}

type Run = (world: World, random: Random) => Promise<string | undefined>

/**
 * Most operations are queries. One in twenty is a mutation, as many are requests to REST, two are queries with writes
 * between, and two are those of a router.
 */
const kinds: readonly Run[] = [
  ...Array<Run>(14).fill(runQuery),
  runEntities,
  runEntities,
  runBetweenWrites,
  runBetweenWrites,
  runMutation,
  runRoute,
]

/** Runs random operations. Returns the descriptions of the mismatches. */
export async function runOperations(world: World, { operations, seed, onProgress }: RunOptions): Promise<string[]> {
  const mismatches: string[] = []
  let tooExpensive = 0
  for (let number = 1; number <= operations && mismatches.length < maxMismatches; number += 1) {
    // Each operation has its own random numbers, so that it is the same whatever came before.
    const random = createRandom(seed * 1_000_003 + number)
    const found = await random.pick(kinds)(world, random)
    if (found === 'too expensive') tooExpensive += 1
    else if (found !== undefined) mismatches.push(`Operation ${number} of seed ${seed} differs.\n${found}`)
    // It forgets the statements of the operation.
    await world.app.statementsOf(async () => undefined)
    onProgress?.(number)
  }
  if (tooExpensive > 5 + operations / 20)
    mismatches.push(`${tooExpensive} of ${operations} operations were too expensive.`)
  return mismatches
}
