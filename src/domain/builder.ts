import { dataModel, getDatamodel, type PrismaTypes } from '@fusion-gateway/database'
import type { Context } from '@fusion-gateway/gateway-kit'
import { defaultPageSize, scalars, type TreesTypes, treesPlugin } from '@fusion-gateway/pothos-trees'
import { maxPageSize } from '@fusion-gateway/prisma-trees'
import SchemaBuilder from '@pothos/core'
import PrismaPlugin from '@pothos/plugin-prisma'
import RelayPlugin from '@pothos/plugin-relay'
import { readUnnamedCursor } from './unnamed-cursors.ts'

/** The types of the schema for Pothos: the context of resolvers, the models, and the scalars. */
interface SchemaTypes extends TreesTypes {
  readonly Context: Context
  readonly PrismaTypes: PrismaTypes
}

declare module '@fusion-gateway/pothos-trees' {
  interface Register {
    readonly types: PothosSchemaTypes.ExtendDefaultTypes<SchemaTypes>
    readonly context: Context
  }
}

/** The value of the field can be a promise. graphql-jit awaits only what a resolver returns. */
const awaited = { extensions: { pothosExposedField: undefined } }

/**
 * The Pothos builder of the schema. The resources define their types with it; domain/schema.graphql.ts builds the
 * schema.
 */
export const builder = new SchemaBuilder<SchemaTypes>({
  // The last plugin sees a field first.
  plugins: [treesPlugin, PrismaPlugin, RelayPlugin],
  defaultFieldNullability: false,
  trees: {
    model: dataModel,
    // docs/decisions/0022-nullable-fields-of-query.md
    hasNullableQuery: true,
    hasDatedDeprecations: true,
    readCursor: readUnnamedCursor,
    userErrorCodes: {
      NOT_FOUND: 'No object of this tenant has this id.',
      DUPLICATE: 'An earlier input of the same call has the same id, key or account.',
    },
  },
  prisma: {
    client() {
      throw new Error('Relations are read by loaders (db/read/loaders.ts), and not by Prisma Client')
    },
    dmmf: getDatamodel(),
  },
  relay: {
    cursorType: 'String',
    clientMutationId: 'omit',
    // The plugin's `node` would encode the type into the ids. Ids are the same in REST, so node.graphql.ts defines its
    // own.
    nodeQueryOptions: false,
    nodesQueryOptions: false,
    edgesFieldOptions: { nullable: false, description: 'The items of this page with their cursors.' },
    nodeFieldOptions: { nullable: false, description: 'The item.' },
    nodesFieldOptions: { nullable: { list: false, items: false } },
    nodesOnConnection: { description: 'The items of this page without their cursors.' },
    cursorFieldOptions: { description: 'The position of this item. Pass it as `after` or `before`.' },
    pageInfoTypeOptions: { scope: 'inherited', description: 'The start and end of a page.' },
    pageInfoFieldOptions: { description: 'The start and end of this page.' },
    hasNextPageFieldOptions: { description: 'Whether more items follow this page.', ...awaited },
    hasPreviousPageFieldOptions: { description: 'Whether more items precede this page.', ...awaited },
    startCursorFieldOptions: { description: 'The cursor of the first item of this page.' },
    endCursorFieldOptions: { description: 'The cursor of the last item of this page.' },
    firstArgOptions: {
      description: `The number of items from the start of the list: 0–${maxPageSize}. ${defaultPageSize} by default.`,
    },
    lastArgOptions: {
      description: `The number of items from the end of the list: 0–${maxPageSize}. Cannot be combined with \`first\`.`,
    },
    afterArgOptions: { description: 'Returns only items after this cursor.' },
    beforeArgOptions: { description: 'Returns only items before this cursor.' },
  },
})

for (const [name, scalar] of Object.entries(scalars)) builder.addScalarType(name as keyof typeof scalars, scalar)

builder.queryType({ description: 'Reads.' })
builder.mutationType({ description: 'Writes.' })
builder.subscriptionType({
  description: 'What changes, as it changes: over server-sent events, WebSockets, or the multipart protocol of Apollo.',
})
