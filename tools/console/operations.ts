import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import {
  buildSchema,
  type DefinitionNode,
  type DocumentNode,
  type FragmentDefinitionNode,
  type GraphQLSchema,
  isEnumType,
  Kind,
  type OperationDefinitionNode,
  parse,
  visit,
} from 'graphql'
import { scopes, userScopes } from '../../src/domain/scopes.ts'

const root = path.resolve(import.meta.dirname, '../..')

/** Where the operations of the console are written. */
export const operationsPath = path.join(root, 'packages/console/src/files/operations.generated.ts')

/** The enums whose values the console lists. */
const enums = ['EventType', 'OrderDirection', 'UserOrderField']

const config = {
  enumType: 'string-literal',
  scalars: {
    ID: 'string',
    DateTime: 'string',
    Date: 'string',
    SafeInt: 'number',
    JSONObject: 'object',
    JSONScalar: 'string | number | boolean',
  },
  strictScalars: true,
  immutableTypes: true,
  skipTypename: true,
  disableDescriptions: true,
  namingConvention: 'keep',
}

/**
 * Generates the operations of the console, with the types of their variables and data. Without packages of development
 * they have no types, which browsers do not need.
 *
 * @throws Error if an operation does not match schema.graphql
 */
export async function generateOperations(): Promise<string> {
  const text = readFileSync(path.join(root, 'schema.graphql'), 'utf8')
  const files = globSync('packages/console/src/operations/*.graphql', { cwd: root }).toSorted()
  const documents = files.map((file) => {
    const rawSDL = readFileSync(path.join(root, file), 'utf8')
    return { location: file, rawSDL, document: parse(rawSDL) }
  })
  const schema = buildSchema(text)
  const tools = [import('@graphql-codegen/core'), import('@graphql-codegen/typescript-operations')] as const
  const [core, types] = await Promise.all(tools).catch(() => [])
  const code = await core?.codegen({
    filename: operationsPath,
    schema: parse(text),
    schemaAst: schema,
    documents,
    config,
    plugins: [{ types: {} }],
    pluginMap: { types },
  })
  return `// Generated from schema.graphql and packages/console/src/operations: npm run schema
import type { Document } from './document.ts'

export type Scope = ${quote(scopes).join(' | ')}

/** The scopes that a token for a user can have. */
export const userScopes: readonly Scope[] = [${quote(userScopes).join(', ')}]

${enums.map((name) => listOf(schema, name)).join('\n\n')}

${code ?? ''}
${textsOf(documents.map(({ document }) => document))}`
}

const quote = (words: readonly string[]) => words.map((word) => `'${word}'`)

/** `EventType` ⇒ `export const eventTypes: readonly EventType[] = …` */
function listOf(schema: GraphQLSchema, name: string): string {
  const type = schema.getType(name)
  if (!isEnumType(type)) throw new Error(`${name} is no enum`)
  const values = quote(type.getValues().map((value) => value.name))
  return `export const ${startLower(name)}s: readonly ${name}[] = [${values.join(', ')}]`
}

const startLower = (name: string) => `${name.charAt(0).toLowerCase()}${name.slice(1)}`

const isFragment = (definition: DefinitionNode) => definition.kind === Kind.FRAGMENT_DEFINITION
const isOperation = (definition: DefinitionNode) => definition.kind === Kind.OPERATION_DEFINITION

/** The texts of the operations, with their fragments: `query Jobs` ⇒ `jobsQuery`. */
function textsOf(documents: readonly DocumentNode[]): string {
  const definitions = documents.flatMap((document) => document.definitions)
  const fragments = new Map(definitions.filter(isFragment).map((each) => [each.name.value, each] as const))
  return definitions
    .filter(isOperation)
    .map((operation) => {
      const name = operation.name?.value ?? ''
      const type = `${operation.operation.charAt(0).toUpperCase()}${operation.operation.slice(1)}`
      const parts = [operation, ...fragmentsOf(operation, fragments)]
      const text = parts.map(({ loc }) => loc?.source.body.slice(loc.start, loc.end)).join('\n\n')
      return `export const ${startLower(name)}${type} = \`${text}\` as Document<${name}${type}, ${name}${type}Variables>\n`
    })
    .join('\n')
}

function fragmentsOf(
  definition: OperationDefinitionNode | FragmentDefinitionNode,
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
): FragmentDefinitionNode[] {
  const found = new Set<FragmentDefinitionNode>()
  visit(definition, {
    FragmentSpread({ name }) {
      const fragment = fragments.get(name.value)
      if (fragment) for (const each of [fragment].concat(fragmentsOf(fragment, fragments))) found.add(each)
    },
  })
  return [...found]
}
