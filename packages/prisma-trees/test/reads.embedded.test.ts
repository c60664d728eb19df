import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Blogs, openBlogs } from './open-blogs.ts'
import { forPrisma, posts, wheres } from './wheres.ts'

let blogs: Blogs
const blogId = 'first'

beforeAll(async () => {
  blogs = await openBlogs()
})
beforeEach(() => {
  blogs.statements.length = 0
})
afterAll(() => blogs.close())

type Delegate = { findMany(args: object): Promise<object[]>; count(args: object): Promise<number> }

/** What an untouched Prisma Client reads of the blog. */
const owned = (where: object) => ({ AND: [{ blogId }, forPrisma(where)] })

const numRuns = process.env['TEST_ALL'] ? 300 : 100

describe('the client of a blog', () => {
  it('reads a tree with one statement, and returns what an untouched Prisma Client returns', async () => {
    await fc.assert(
      fc.asyncProperty(posts, async ({ where, ...args }) => {
        const expected = await blogs.plain.post.findMany({ ...forPrisma(args), where: owned(where) } as never)
        blogs.statements.length = 0
        const read = await blogs.of(blogId).post.findMany({ ...args, where } as never)
        expect(read).toEqual(expected)
        expect(blogs.statements).toHaveLength(1)
      }),
      { numRuns },
    )
  })

  it.each(['author', 'post', 'comment'] as const)(
    'selects the rows of an untouched Prisma Client: %s',
    async (name) => {
      const [own, plain] = [blogs.of(blogId)[name] as never as Delegate, blogs.plain[name] as never as Delegate]
      const orderBy = [{ createdAt: 'asc' }, { id: 'asc' }]
      await fc.assert(
        fc.asyncProperty(wheres[name], async (where) => {
          const expected = await plain.findMany({ where: owned(where), orderBy })
          expect(await own.findMany({ where, orderBy, take: 500 })).toEqual(expected)
          expect(await own.count({ where })).toBe(expected.length)
        }),
        { numRuns },
      )
    },
  )
})
