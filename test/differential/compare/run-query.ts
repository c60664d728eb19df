import { parse, validate } from 'graphql'
import type { Random } from '../../../src/domain/resource.ts'
import { generateOperation } from '../generate/operation.ts'
import type { World } from '../world/world.ts'
import { describeMismatch, runCase, shrinkCase, stepsOf } from './run-operation.ts'

/**
 * Runs a random query several times.
 *
 * @param root its root field; without it, random ones
 * @returns a description of the smallest mismatch; `too expensive` if the gateway did not execute it
 */
export async function runQuery(world: World, random: Random, root?: string): Promise<string | undefined> {
  const { schema, cursors, other, readers } = world
  const tenantAppId = (readers[0] ?? other).view.tenantAppId
  const operation = generateOperation({ schema, cursors, tenantAppId }, random, root)
  const outcome = await runCase(world, { ...operation, steps: stepsOf(world, random) })
  if (outcome === 'equal') return undefined
  if (outcome === 'too expensive') return outcome
  const [invalid] = validate(schema, parse(operation.text))
  if (invalid) throw new Error(`The generator wrote an invalid document: ${invalid.message}\n${operation.text}`)
  return describeMismatch(await shrinkCase(world, outcome))
}
