import SchemaBuilder from '@pothos/core'
import PrismaPlugin from '@pothos/plugin-prisma'
import RelayPlugin from '@pothos/plugin-relay'
import { getDatamodel } from '../../db/generated/pothos.ts'
import { maxPageSize } from '../../db/read/page.ts'
import { defaultPageSize } from './connection.ts'
import './bulk-write-field.ts'
import './filter.ts'
import './list.ts'
import './order.ts'
import './related-list.ts'
import './stats.ts'
import { scalars } from './scalars.ts'
import TreesPlugin from './trees-plugin.ts'
import type { SchemaTypes } from './types.ts'

/**
 * A field whose value can be a promise. graphql-jit awaits only what a resolver returns, and Pothos gives a field that
 * it exposes none.
 */
const awaited = { extensions: { pothosExposedField: undefined } }

/**
 * The Pothos builder of the schema. The resources define their types with it; domain/schema.graphql.ts builds the
 * schema.
 */
export const builder = new SchemaBuilder<SchemaTypes>({
  // The last plugin sees a field first.
  plugins: [TreesPlugin, PrismaPlugin, RelayPlugin],
  defaultFieldNullability: false,
  prisma: {
    client() {
      throw new Error('Relations are read by loaders (db/read/loaders.ts), and not by Prisma Client')
    },
    dmmf: getDatamodel(),
  },
  relay: {
    cursorType: 'String',
    clientMutationId: 'omit',
    // The plugin's `node` would encode the type into the ids. Ids are the same in REST, so node.ts defines its own.
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
