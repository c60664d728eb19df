import SchemaBuilder from '@pothos/core'
import PrismaPlugin from '@pothos/plugin-prisma'
import RelayPlugin from '@pothos/plugin-relay'
import type { Context } from '../context.ts'
import type PrismaTypes from '../db/generated/pothos.ts'
import { getDatamodel } from '../db/generated/pothos.ts'
import { type JsonObject, scalars } from './scalars.ts'
import ScopePlugin from './scope-plugin.ts'

/** The builder that every type of the schema is made with. It defines none itself; schema.ts gathers them. */
export const builder = new SchemaBuilder<{
  Context: Context
  PrismaTypes: PrismaTypes
  DefaultFieldNullability: false
  DefaultEdgesNullability: false
  DefaultNodeNullability: false
  Scalars: {
    ID: { Input: string; Output: string }
    DateTime: { Input: Date; Output: Date }
    Date: { Input: Date; Output: Date }
    JSONObject: { Input: JsonObject; Output: JsonObject }
    SafeInt: { Input: number; Output: number }
  }
}>({
  plugins: [ScopePlugin, PrismaPlugin, RelayPlugin],
  defaultFieldNullability: false,
  prisma: {
    client: (context) => context.prisma,
    dmmf: getDatamodel(),
  },
  relay: {
    cursorType: 'String',
    clientMutationId: 'omit',
    // Ids are the same on both faces, so node.ts resolves them; the plugin's own would encode the type into them.
    nodeQueryOptions: false,
    nodesQueryOptions: false,
    edgesFieldOptions: { nullable: false, description: 'The items of this page, each with its cursor.' },
    nodeFieldOptions: { nullable: false, description: 'The item.' },
    nodesFieldOptions: { nullable: { list: false, items: false } },
    nodesOnConnection: { description: 'The items of this page, without their cursors.' },
    cursorFieldOptions: { description: 'Where this item stands. Give it as `after` or `before`.' },
    pageInfoTypeOptions: { scope: 'inherited', description: 'Where a page of a connection begins and ends.' },
    pageInfoFieldOptions: { description: 'Where this page begins and ends.' },
    hasNextPageFieldOptions: { description: 'Whether more items follow this page.' },
    hasPreviousPageFieldOptions: { description: 'Whether items come before this page.' },
    startCursorFieldOptions: { description: 'The cursor of the first item of this page.' },
    endCursorFieldOptions: { description: 'The cursor of the last item of this page.' },
    firstArgOptions: {
      description: 'How many items from the front: 1–500. 20 when neither `first` nor `last` is given.',
    },
    lastArgOptions: { description: 'How many items from the back: 1–500. Not together with `first`.' },
    afterArgOptions: { description: 'Only items after this cursor.' },
    beforeArgOptions: { description: 'Only items before this cursor.' },
  },
})

for (const [name, scalar] of Object.entries(scalars)) builder.addScalarType(name as keyof typeof scalars, scalar)

builder.queryType({ description: 'Everything that can be read.' })
builder.mutationType({ description: 'Everything that can be changed.' })
builder.subscriptionType({ description: 'Everything that can be followed live, over server-sent events.' })
