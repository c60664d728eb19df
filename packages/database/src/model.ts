import { createDataModel, type GeneratedTables } from '@fusion-gateway/prisma-trees'
import type { Prisma, PrismaClient } from './generated/prisma/client.ts'
import { tables } from './generated/tables.ts'

declare module '@fusion-gateway/prisma-trees' {
  interface Register {
    readonly client: PrismaClient
    readonly models: Prisma.TypeMap['model']
    readonly owner: 'tenantAppId'
  }
}

/** The tables of schema.prisma, each row of which belongs to a tenant, if it is not a tenant itself. */
export const dataModel = createDataModel(tables satisfies GeneratedTables, 'tenantAppId')
