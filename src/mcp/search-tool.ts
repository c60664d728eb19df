import * as graphql from 'graphql'
import { invalidField } from '../engine/errors.ts'
import type { Tool } from './tool.ts'

/**
 * Creates the tool that finds fields by up to 8 words. Each is a line: `user email` ⇒ `User.email: String # The email
 * address.`
 */
export function createSearchTool(schema: graphql.GraphQLSchema): Tool {
  const types = Object.values(schema.getTypeMap()).filter(({ name }) => !name.startsWith('__'))
  const lines = types.flatMap(linesOf)
  return {
    name: 'search_schema',
    description: 'Finds fields of the GraphQL schema by words, or those of a type by its name. Queries start at Query.',
    inputSchema: { type: 'object', properties: { search: { type: 'string' } }, required: ['search'] },
    annotations: { readOnlyHint: true },
    run({ search }) {
      if (typeof search !== 'string') throw invalidField('search', 'INVALID_TYPE', 'must be a string')
      const words = search.toLowerCase().match(/\w+/g)?.slice(0, 8) ?? []
      const ranked = lines.map((line) => ({ line, rank: rankOf(line.toLowerCase(), words) }))
      const found = ranked.filter(({ rank }) => rank > 0).toSorted((one, other) => other.rank - one.rank)
      return [...found.slice(0, 60).map(({ line }) => line), `${found.length} found.`].join('\n')
    },
  }
}

/** The fields of a type that is named rank first, then what has a word as its name, in it, and elsewhere. */
function rankOf(line: string, words: readonly string[]): number {
  const [name = ''] = line.split(/[(: ]/, 1)
  const ranks = words.map((word) => {
    if (name.startsWith(`${word}.`)) return 9
    if (name.endsWith(`.${word}`)) return 4
    return name.includes(word) ? 3 : +line.includes(word)
  })
  return ranks.reduce((sum, rank) => sum + rank, 0)
}

/** The fields of a type, or the values of an enumeration. */
function linesOf(type: graphql.GraphQLNamedType): string[] {
  const fields = 'getFields' in type ? Object.values(type.getFields()) : []
  const members: Member[] = graphql.isEnumType(type) ? [...type.getValues()] : fields
  return members.map(({ name, args = [], type: of, description }) => {
    const signature = args.length > 0 ? `(${args.map((arg) => `${arg.name}: ${arg.type}`).join(', ')})` : ''
    const about = description ? ` # ${description.replaceAll(/\s+/g, ' ')}` : ''
    return `${type.name}.${name}${signature}${of ? `: ${of}` : ''}${about}`
  })
}

interface Member extends Pick<graphql.GraphQLEnumValue, 'name' | 'description'> {
  readonly args?: readonly graphql.GraphQLArgument[]
  readonly type?: graphql.GraphQLType
}
