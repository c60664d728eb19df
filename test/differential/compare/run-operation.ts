import { type ExecutionResult, parse, print } from 'graphql'
import type { Random } from '../../../src/domain/resource.ts'
import { executeReference } from '../reference/reference.ts'
import type { Reader, World } from '../world/world.ts'
import { differenceOf, ofGateway, ofReference } from './responses.ts'
import { type Operation, shrink, smallerOperations } from './shrink.ts'

/** One run of an operation: who sends it, and with which of its sets of values. */
export interface Step {
  readonly reader: Reader
  readonly set: number
}

/** An operation, the values of its variables, and its runs in their order. */
export interface Case extends Operation {
  readonly steps: readonly Step[]
}

/** A case whose last run differs from the reference. */
export interface Mismatch {
  readonly found: Case
  readonly difference: string
}

/**
 * The runs of an operation. The gateway interprets the first one and compiles the operation for the second one. Then
 * come other viewers and other values in any order, and at last the first values again.
 */
export function stepsOf({ readers, other }: World, { below, pick }: Random): Step[] {
  const [full, withoutContacts, ...few] = readers
  if (!full || !withoutContacts) throw new Error('The world has no readers')
  const first = { reader: full, set: 0 }
  const between = [
    { reader: withoutContacts, set: below(2) },
    { reader: pick(few), set: below(2) },
    { reader: full, set: 1 },
    { reader: other, set: below(2) },
  ]
  return [first, first, ...between.sort(() => below(3) - 1), first]
}

/**
 * How an operation ended: its runs equal the reference, or one does not, or it costs more than the gateway executes.
 */
export type Outcome = 'equal' | 'too expensive' | Mismatch

/** Runs an operation step by step until a response differs. */
export async function runCase({ app, schema }: World, found: Case): Promise<Outcome> {
  const { text, sets, steps } = found
  const document = parse(text)
  const expected = new Map<string, ExecutionResult>()
  for (const [index, { reader, set }] of steps.entries()) {
    const variables = sets[set] ?? {}
    const response = await app.graphql(reader.credentials, text, variables)
    if (response.errors?.some(({ extensions }) => extensions['code'] === 'TOO_EXPENSIVE')) return 'too expensive'
    const key = `${reader.view.tenantAppId} ${reader.name} ${set}`
    const known = expected.get(key) ?? executeReference(schema, document, variables, reader.view)
    expected.set(key, known)
    const difference = differenceOf(ofGateway(response), ofReference(known))
    if (difference !== undefined) return { found: { ...found, steps: steps.slice(0, index + 1) }, difference }
  }
  return 'equal'
}

/** The smallest case that still differs; the mismatch itself if it does not differ again, in a document of its own. */
export async function shrinkCase(world: World, mismatch: Mismatch): Promise<Mismatch> {
  const shrunk = await shrink<Case, Mismatch>(mismatch.found, {
    async attempt(smaller, comment) {
      const outcome = await runCase(world, { ...smaller, text: smaller.text + comment })
      if (typeof outcome === 'string') return undefined
      return { ...outcome, found: { ...outcome.found, text: smaller.text } }
    },
    *smaller({ found }) {
      const { steps } = found
      for (const one of steps.length > 1 ? steps : []) yield { ...found, steps: steps.filter((step) => step !== one) }
      for (const operation of smallerOperations(world.schema, found)) yield { ...operation, steps }
    },
  })
  return shrunk ?? mismatch
}

/** Describes a mismatch, so that it can be run again. */
export function describeMismatch({ found: { text, sets, steps }, difference }: Mismatch): string {
  const runs = steps.map(
    ({ reader, set }) => `  ${reader.view.tenantName}, ${reader.name}: ${JSON.stringify(sets[set])}`,
  )
  return `${print(parse(text))}\nThe last of these runs differs:\n${runs.join('\n')}\n${difference}`
}
