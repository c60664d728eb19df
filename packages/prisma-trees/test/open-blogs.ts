import { readFileSync } from 'node:fs'
import { createEmbeddedDriver } from '@fusion-gateway/embedded'
import type { ViewerClient } from '@fusion-gateway/prisma-trees'
import { Sql } from '@fusion-gateway/sql'
import { takePgliteWithoutTables } from '../../../test/support/recycled-pglite.ts'
import { createBlogs } from './blog.ts'
import { PrismaClient } from './generated/prisma/client.ts'

/** A database with the blogs of `fillBlog`. */
export interface Blogs {
  /** The client of a blog, or of one author of it. */
  of(blogId: string, authorId?: string): ViewerClient
  /** Sends other statements. */
  readonly sql: Sql
  /** An untouched Prisma Client. */
  readonly plain: PrismaClient
  /** The statements that clients of blogs have sent. */
  readonly statements: string[]
  close(): Promise<void>
}

/** Opens a database with two blogs, whose rows have the same ids. */
export async function openBlogs(): Promise<Blogs> {
  const { pglite, giveBack } = await takePgliteWithoutTables()
  const driver = { ...createEmbeddedDriver(pglite), close: giveBack }
  for (const file of ['../search-fold.sql', 'tables.sql'])
    await driver.runScript(readFileSync(new URL(file, import.meta.url), 'utf8'))
  const plain = new PrismaClient({ adapter: driver.prismaAdapter })
  const statements: string[] = []
  const observe = (text: string) => {
    statements.push(text)
    return undefined
  }
  for (const [number, blogId] of ['first', 'second'].entries()) await fillBlog(plain, blogId, number)
  const of = createBlogs(driver, { observe })
  return { of, sql: new Sql(driver), plain, statements, close: () => driver.close() }
}

/** Longer than an entry of an index can be. */
const longName = 'Long 𝒜 '.repeat(1_000)
export const names = ['Ada', 'ada 50%', 'A_da', "O'Neil", 'Zoë', longName]
export const days = [1, 2, 3, 4].map((day) => new Date(Date.UTC(2026, 0, day, 8, 0, 0, day)))
export const views = [null, 0n, 1n, 5n, 9_007_199_254_740_991n]
const labels = ['news', 'a "quoted" \\ label', '']
const statuses = ['DRAFT', 'PUBLISHED', 'ARCHIVED'] as const
const metas = [undefined, { b: 1, a: [null, 'x'] }, [], 'text', 1.5]

/** The element of a list at a place beyond its end too. */
const at = <Value>(values: readonly Value[], place: number) => values[place % values.length] as Value

const idsOf = (prefix: string, count: number) => Array.from({ length: count }, (_, index) => `${prefix}_${index}`)
export const ids = { author: idsOf('a', 8), post: idsOf('p', 24), comment: idsOf('c', 60), tag: idsOf('t', 4) }

/** @param shift makes the rows of a blog others than those with the same ids in another blog */
async function fillBlog({ author, post, comment, tag, postTag }: PrismaClient, blogId: string, shift: number) {
  await author.createMany({
    data: ids.author.map((id, index) => ({
      blogId,
      id,
      name: at(names, index + shift),
      email: index % 2 ? null : `${index}@example.com`,
      createdAt: at(days, index + shift),
      bornOn: index % 3 ? null : at(days, index),
    })),
  })
  await post.createMany({
    data: ids.post.map((id, index) => {
      const meta = at(metas, index)
      return {
        blogId,
        id,
        authorId: at(ids.author, index * 3 + shift),
        reviewerId: index % 2 ? null : at(ids.author, index * 5),
        title: `${at(names, index).slice(0, 20)} ${index % 5}`,
        status: at(statuses, index + shift),
        views: at(views, index),
        rating: (index % 4) / 3,
        isPinned: index % 7 === 0,
        labels: labels.slice(0, index % 4),
        scores: [index, -1].slice(0, index % 3),
        reads: [9_007_199_254_740_993n, 0n].slice(0, index % 3),
        ...(meta !== undefined && { meta }),
        createdAt: at(days, index + shift),
        updatedAt: at(days, index * 2),
      }
    }),
  })
  await comment.createMany({
    data: ids.comment.map((id, index) => ({
      blogId,
      id,
      postId: at(ids.post, index * 7 + shift),
      authorId: at(ids.author, index),
      replyToId: index % 3 ? at(ids.comment, Math.floor(index / 2)) : null,
      text: at(names, index).slice(0, 9),
      createdAt: at(days, index),
    })),
  })
  await tag.createMany({ data: ids.tag.map((id, index) => ({ blogId, id, name: `Tag ${index + shift}` })) })
  await postTag.createMany({
    data: ids.post.flatMap((postId, index) =>
      ids.tag.slice(index % 5).map((tagId) => ({ blogId, id: `${postId}_${tagId}`, postId, tagId })),
    ),
  })
}
