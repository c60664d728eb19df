import { createDataModel } from '@fusion-gateway/prisma-trees'
import type { Prisma, PrismaClient } from '../generated/prisma/client.ts'
import { tables } from '../generated/tables.ts'

declare module '@fusion-gateway/prisma-trees' {
  interface Register {
    readonly client: PrismaClient
    readonly models: Prisma.TypeMap['model']
    readonly owner: 'blogId'
  }
}

export const dataModel = createDataModel(tables, 'blogId')
