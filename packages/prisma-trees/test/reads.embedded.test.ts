import { createDataModel, createLoaders, createReads, type Excess, type ReadLimits } from '@fusion-gateway/prisma-trees'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Prisma } from './generated/prisma/client.ts'
import { tables } from './generated/tables.ts'
import { type Blogs, openBlogs } from './open-blogs.ts'
import { newestPosts } from './requests.ts'
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

const numRuns = process.env['TEST_ALL'] ? 300 : 20

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

  it('reads the newest posts of README.md with one statement', async () => {
    const posts = await newestPosts(blogs.of(blogId), 'ADA')
    expect(blogs.statements).toHaveLength(1)
    const order = { id: 'asc' } as const
    const expected = await blogs.plain.post.findMany({
      where: { blogId, status: 'PUBLISHED', title: { contains: 'ADA', mode: 'insensitive' } },
      orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
      take: 20,
      select: {
        title: true,
        author: { select: { name: true } },
        tags: { orderBy: order, select: { tag: { select: { name: true } } } },
        comments: {
          orderBy: [{ createdAt: 'asc' }, order],
          take: 3,
          select: { text: true, author: { select: { name: true } } },
        },
      },
    })
    expect(posts).toEqual(expected)
    expect(posts.length).toBeGreaterThan(2)
  })

  it('reads rows of no other blog, and none of a blog that does not exist', async () => {
    for (const id of ['first', 'second']) {
      const rows = await blogs
        .of(id)
        .post.findMany({ take: 500, include: { author: true, comments: true, tags: true } })
      const own = rows.flatMap(({ author, comments, tags, ...post }) => [post, author, ...comments, ...tags])
      expect(new Set(own.map((row) => row.blogId))).toEqual(new Set([id]))
      expect(rows).toHaveLength(24)
      expect(await blogs.of(id).comment.count({ where: { OR: [{ blogId: 'first' }, { blogId: 'second' }] } })).toBe(60)
    }
    expect(await blogs.of('first').post.findMany({ where: { blogId: 'second' }, take: 500 })).toEqual([])
    expect(await blogs.of('none').post.findMany({ take: 500 })).toEqual([])
    expect(await blogs.of('none').post.findFirst({ where: { id: 'p_1' } })).toBeNull()
  })

  it('reads only what belongs to an author by each foreign key, though comments refer to comments', async () => {
    const own = blogs.of(blogId, 'a_0')
    expect(await own.author.findMany({ take: 500, select: { id: true } })).toEqual([{ id: 'a_0' }])
    const posts = await own.post.findMany({ take: 500 })
    const where = { blogId, authorId: 'a_0', reviewerId: 'a_0' }
    expect(posts.map(({ id }) => id).toSorted()).toEqual(
      (await blogs.plain.post.findMany({ where })).map(({ id }) => id).toSorted(),
    )
    expect(posts.length).toBeGreaterThan(0)
    const expected = await blogs.plain.comment.count({ where: { authorId: 'a_0', post: where } })
    expect(await own.comment.count()).toBe(expected)
    expect(expected).toBeGreaterThan(0)
    expect(await own.tag.count()).toBe(0)
  })

  it('counts, and reads the numbers of groups', async () => {
    const numbers = { _count: true, _sum: { views: true }, _max: { rating: true } } as const
    const groups = { by: ['status'], orderBy: { status: 'asc' }, ...numbers } as const
    const db = blogs.of(blogId)
    expect(await db.post.aggregate(numbers)).toEqual(
      await blogs.plain.post.aggregate({ where: { blogId }, ...numbers }),
    )
    const expected = await blogs.plain.post.groupBy({ ...groups, by: ['status'], where: { blogId } })
    expect(await db.post.groupBy({ ...groups, by: ['status'], take: 10 })).toEqual(expected)
  })

  it('takes null of a relation as a row that refers to none', async () => {
    const db = blogs.of(blogId)
    const expected = await db.comment.count({ where: { replyToId: null } })
    expect(expected).toBe(20)
    expect(await db.comment.count({ where: { replyTo: null } })).toBe(expected)
    expect(await db.comment.count({ where: { replyTo: { isNot: null } } })).toBe(60 - expected)
  })

  it('refuses a request that reads more than it may, with the error of its limits', async () => {
    const reads = createReads(createDataModel(tables, 'blogId'))
    const tooMuch = new Error('Too much')
    const read = (limits: Partial<ReadLimits>) =>
      createLoaders(blogs.sql, reads, { id: blogId }, limits).find('Post', { take: 20, include: { author: true } })
    expect(await read({ maxLength: 100_000 })).toHaveLength(21)
    await expect(read({ maxLength: 1_000 })).rejects.toThrow('The request reads more than it may')
    const errorFor = ({ of }: Excess) => (of === 'length' ? tooMuch : undefined)
    await expect(read({ maxLength: 1_000, errorFor })).rejects.toBe(tooMuch)
  })

  it.each([1, '1', true])('selects by the value %j of a key of JSON', async (value) => {
    const where = { meta: { path: ['b'], equals: value } }
    const select = { id: true }
    const own = await blogs.of(blogId).post.findMany({ where, select, orderBy: { id: 'asc' }, take: 500 })
    const expected = await blogs.plain.post.findMany({ where: { blogId, ...where }, select, orderBy: { id: 'asc' } })
    expect(own).toEqual(expected)
    expect(own.length > 0).toBe(value === 1)
  })

  it('says what it does not support', async () => {
    const { post } = blogs.of(blogId)
    const where = (condition: object) => post.findMany({ where: condition as never, take: 1 })
    await expect(where({ labels: { has: 'x' } })).rejects.toThrow('`has` on labels of the table Post')
    await expect(where({ labels: { equals: ['x'] } })).rejects.toThrow('`equals` on labels')
    await expect(where({ meta: { equals: Prisma.DbNull } })).rejects.toThrow('`equals` on meta')
    await expect(where({ meta: { path: ['a', '0'], equals: 1 } })).rejects.toThrow('`path` on meta')
    await expect(where({ meta: { path: ['b'], equals: {} } })).rejects.toThrow('`path` on meta')
    await expect(where({ meta: { path: ['b'], gt: 1 } })).rejects.toThrow('`path` on meta')
    await expect(post.findMany({ orderBy: { reviewerId: 'asc' }, take: 1 })).rejects.toThrow(
      'README.md of prisma-trees says which fields have one',
    )
    await expect(post.findMany({ orderBy: { author: { name: 'asc' } }, take: 1 })).rejects.toThrow('no column author')
  })
})
