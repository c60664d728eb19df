import type { TreesContext } from '@fusion-gateway/pothos-trees'
import { createLoaders, createReads, trees, type ViewerClient } from '@fusion-gateway/prisma-trees'
import type { Sql } from '@fusion-gateway/sql'
import type { PrismaClient } from '../generated/prisma/client.ts'
import { dataModel } from './database.ts'

export interface Context extends TreesContext {
  readonly db: ViewerClient
}

/** Returns a function that creates the context of a request. */
export function createContexts(prisma: PrismaClient, sql: Sql) {
  const reads = createReads(dataModel)
  const client = prisma.$extends(trees(dataModel))
  return (blogId: string, scopes: readonly string[]): Context => {
    const within = (own: Sql) => {
      const owner = { id: blogId }
      const loaders = createLoaders(own, reads, owner)
      return { sql: own, loaders, db: client.of({ sql: own, owner, loaders }) }
    }
    return { ...within(sql), within, viewer: { scopes } }
  }
}
