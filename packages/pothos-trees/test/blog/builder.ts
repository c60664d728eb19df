import { scalars, type TreesTypes, treesPlugin } from '@fusion-gateway/pothos-trees'
import SchemaBuilder from '@pothos/core'
import PrismaPlugin from '@pothos/plugin-prisma'
import RelayPlugin from '@pothos/plugin-relay'
import type PrismaTypes from '../generated/pothos.ts'
import { getDatamodel } from '../generated/pothos.ts'
import type { Context } from './context.ts'
import { dataModel } from './database.ts'

export interface SchemaTypes extends TreesTypes {
  readonly Context: Context
  readonly PrismaTypes: PrismaTypes
}

declare module '@fusion-gateway/pothos-trees' {
  interface Register {
    readonly types: PothosSchemaTypes.ExtendDefaultTypes<SchemaTypes>
    readonly context: Context
  }
}

declare module '@fusion-gateway/base' {
  interface FieldScopes {
    readonly 'drafts:read': true
  }
}

export const builder = new SchemaBuilder<SchemaTypes>({
  plugins: [treesPlugin, PrismaPlugin, RelayPlugin],
  defaultFieldNullability: false,
  trees: { model: dataModel },
  prisma: {
    client() {
      throw new Error('No field is read by Prisma Client')
    },
    dmmf: getDatamodel(),
  },
  relay: { clientMutationId: 'omit', cursorType: 'String' },
})

for (const [name, scalar] of Object.entries(scalars)) builder.addScalarType(name as keyof typeof scalars, scalar)

builder.queryType()
builder.mutationType()
