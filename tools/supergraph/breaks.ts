import { CriticalityLevel, diff } from '@graphql-inspector/core'
import { composeServices } from '@theguild/federation-composition'
import { buildSchema, Kind, parse, print } from 'graphql'

/** The subgraph of another team. */
export interface Subgraph {
  readonly name: string
  /** Its schema. */
  readonly text: string
}

/**
 * Compares two versions of this gateway's subgraph, each composed with those of other teams.
 *
 * @param others the subgraphs of other teams
 * @returns a sentence for each change that breaks a supergraph: what composed and no longer does, what other subgraphs
 *   can no longer refer to or share, and what clients of the router lose. Empty if nothing breaks
 * @throws Error if the earlier version does not compose either
 */
export async function findBreaks(earlier: string, today: string, others: readonly Subgraph[]): Promise<string[]> {
  const before = compose(earlier, others)
  const after = compose(today, others)
  const names = others.map(({ name }) => name).join(', ')
  if (typeof before !== 'string') {
    throw new Error(`The earlier subgraph does not compose with ${names}: ${before.join(' ')}`)
  }
  const known = offersOf(today)
  const breaks = offersOf(earlier)
    .filter((offer) => !known.includes(offer))
    .map((offer) => `Other subgraphs can no longer rely on ${offer}.`)
  if (typeof after !== 'string') {
    return [...breaks, ...after.map((message) => `The supergraph with ${names} no longer composes: ${message}`)]
  }
  const changes = await diff(buildApi(before), buildApi(after))
  const lost = changes.filter(({ criticality }) => criticality.level === CriticalityLevel.Breaking)
  return [...breaks, ...lost.map(({ message }) => `Clients of the router: ${message}.`)]
}

/** The schema that clients of a router see. @returns the errors of the composition if it fails */
function compose(subgraph: string, others: readonly Subgraph[]): string | string[] {
  const { publicSdl, errors = [] } = composeServices(
    [{ name: 'fusion', text: subgraph }, ...others].map(({ name, text }) => ({
      name,
      typeDefs: parse(text),
      url: `http://${name}`,
    })),
  )
  return publicSdl ?? errors.map(({ message }) => message)
}

/** Its directives are those of the composition. */
const buildApi = (text: string) => buildSchema(text, { assumeValidSDL: true })

/** What other subgraphs rely on, besides fields: `User @key(fields: "id")`, `PageInfo @shareable`. */
function offersOf(subgraph: string): string[] {
  return parse(subgraph).definitions.flatMap((definition) =>
    definition.kind === Kind.OBJECT_TYPE_DEFINITION
      ? (definition.directives ?? [])
          .filter(({ name }) => name.value === 'key' || name.value === 'shareable')
          .map((directive) => `${definition.name.value} ${print(directive)}`)
      : [],
  )
}
