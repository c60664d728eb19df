import { readFileSync } from 'node:fs'
import { createEmbeddedDriver } from '@fusion-gateway/embedded'
import { Sql } from '@fusion-gateway/sql'
import { takePgliteWithoutTables } from '../../../test/support/recycled-pglite.ts'
import { type Context, createContexts } from './blog/context.ts'
import { PrismaClient } from './generated/prisma/client.ts'

/** A database with the blogs of `fillBlog`. */
export interface Blogs {
  /** Creates the context of a request. */
  contextOf(blogId: string, scopes?: readonly string[]): Context
  /** An untouched Prisma Client. */
  readonly plain: PrismaClient
  /** The statements that requests have sent. */
  readonly statements: string[]
  close(): Promise<void>
}

/** Opens a database with two blogs, whose rows have the same ids. */
export async function openBlogs(): Promise<Blogs> {
  const { pglite, giveBack } = await takePgliteWithoutTables()
  const driver = { ...createEmbeddedDriver(pglite), close: giveBack }
  for (const file of ['../../prisma-trees/search-fold.sql', 'tables.sql'])
    await driver.runScript(readFileSync(new URL(file, import.meta.url), 'utf8'))
  const plain = new PrismaClient({ adapter: driver.prismaAdapter })
  const statements: string[] = []
  const sql = new Sql(driver, { observe: (text) => void statements.push(text) })
  for (const blogId of ['first', 'second']) await fillBlog(plain, blogId)
  const createContext = createContexts(plain, sql)
  return {
    contextOf: (blogId, scopes = []) => createContext(blogId, scopes),
    plain,
    statements,
    close: () => driver.close(),
  }
}

const idsOf = (prefix: string, count: number) => Array.from({ length: count }, (_, index) => `${prefix}_${index}`)

/** Rows are created one after the other, and the ids do not have the order of their creation. */
const timeOf = (index: number) => new Date(Date.UTC(2026, 0, 1, 0, (index * 7) % 60))

async function fillBlog({ author, post, comment }: PrismaClient, blogId: string): Promise<void> {
  await author.createMany({
    data: idsOf('a', 3).map((id, index) => ({
      blogId,
      id,
      name: `Author ${index} of ${blogId}`,
      email: `${id}@example.com`,
      createdAt: timeOf(index),
    })),
  })
  await post.createMany({
    data: idsOf('p', 20).map((id, index) => ({
      blogId,
      id,
      authorId: `a_${index % 3}`,
      title: `Post ${index % 6} of ${blogId}`,
      isDraft: index % 4 === 0,
      notes: index % 2 ? null : 'Not finished',
      createdAt: timeOf(index),
    })),
  })
  await comment.createMany({
    data: idsOf('c', 50).map((id, index) => ({
      blogId,
      id,
      postId: `p_${(index * 3) % 20}`,
      authorId: `a_${index % 3}`,
      text: `Comment ${index} of ${blogId}`,
      createdAt: timeOf(index),
    })),
  })
}
