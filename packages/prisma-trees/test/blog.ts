import { createDataModel, createLoaders, createReads, trees, type ViewerClient } from '@fusion-gateway/prisma-trees'
import { type Driver, Sql, type SqlOptions } from '@fusion-gateway/sql'
import { type Prisma, PrismaClient } from './generated/prisma/client.ts'
import { tables } from './generated/tables.ts'

declare module '@fusion-gateway/prisma-trees' {
  interface Register {
    readonly client: PrismaClient
    readonly models: Prisma.TypeMap['model']
    readonly owner: 'blogId'
  }
}

const dataModel = createDataModel(tables, 'blogId')
const reads = createReads(dataModel)

/** Creates a function that returns the client of a blog, or of one author of it. Each request has its own. */
export function createBlogs(driver: Driver, options?: SqlOptions) {
  const prisma = new PrismaClient({ adapter: driver.prismaAdapter }).$extends(trees(dataModel))
  const sql = new Sql(driver, options)
  return (blogId: string, authorId?: string): ViewerClient => {
    const within = authorId === undefined ? undefined : { model: 'Author' as const, id: authorId }
    const owner = { id: blogId, within }
    return prisma.of({ sql, owner, loaders: createLoaders(sql, reads, owner) })
  }
}
