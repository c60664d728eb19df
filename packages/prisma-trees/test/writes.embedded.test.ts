import type { ViewerClient } from '@fusion-gateway/prisma-trees'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Prisma } from './generated/prisma/client.ts'
import { type Blogs, days, openBlogs } from './open-blogs.ts'
import { retitle } from './requests.ts'

let blogs: Blogs
let db: ViewerClient
const blogId = 'first'

beforeAll(async () => {
  blogs = await openBlogs()
  db = blogs.of(blogId)
})
beforeEach(() => {
  blogs.statements.length = 0
})
afterAll(() => blogs.close())

const [day = new Date()] = days
const values = {
  authorId: 'a_1',
  title: 'A "new" post',
  status: 'PUBLISHED' as const,
  views: 9_007_199_254_740_993n,
  rating: 0.1,
  labels: ['', 'a "quoted" \\ label'],
  scores: [-1, 2],
  reads: [9_007_199_254_740_993n],
  meta: { b: [null, 'x'], a: 1 },
  createdAt: day,
}

/** The rows of the other blog, which no write changes. */
const others = () =>
  Promise.all([
    blogs.plain.post.findMany({ where: { blogId: 'second' }, orderBy: { id: 'asc' } }),
    blogs.plain.comment.findMany({ where: { blogId: 'second' }, orderBy: { id: 'asc' } }),
  ])

describe('the client of a blog', () => {
  it('creates rows with one statement: defaults, lists, JSON, enums and bigints', async () => {
    const created = await db.post.createManyAndReturn({
      data: [
        { id: 'new_1', ...values },
        { id: 'new_2', authorId: 'a_2', title: '', meta: Prisma.DbNull },
      ],
    })
    expect(blogs.statements).toHaveLength(1)
    const stored = await blogs.plain.post.findMany({ where: { id: { startsWith: 'new_' } }, orderBy: { id: 'asc' } })
    expect(created).toEqual(stored)
    expect(created[0]).toMatchObject({ ...values, blogId, isPinned: false, reviewerId: null })
    expect(created[1]).toMatchObject({ status: 'DRAFT', rating: 0, labels: [], views: null, meta: null })
    const author = await db.author.create({ data: { id: 'new', name: 'New', bornOn: new Date('2000-02-29') } })
    expect(author).toEqual(await blogs.plain.author.findFirst({ where: { id: 'new' } }))
    // @ts-expect-error: the client knows the blog.
    await expect(db.author.create({ data: { id: 'x', name: 'X', blogId: 'second' } })).rejects.toThrow(
      'The field blogId is not given',
    )
  })

  it('refuses a row that refers to a row of another blog', async () => {
    await blogs.plain.author.create({ data: { blogId: 'second', id: 'a_second', name: 'Second' } })
    const post = { id: 'new_3', title: 'X', authorId: 'a_second' }
    await expect(db.post.create({ data: post })).rejects.toThrow('violates foreign key constraint')
  })

  it('changes each row in its own way, with one statement, and leaves the rows of other blogs', async () => {
    const before = await others()
    const changed = await db.post.updateEach([
      { where: { id: 'p_1' }, data: { title: 'One', status: 'ARCHIVED', views: null } },
      { where: { id: 'missing' }, data: { title: 'None' } },
      { where: { id: 'p_2' }, data: { meta: values.meta, labels: { set: ['x'] }, reads: [1n], isPinned: true } },
    ])
    expect(blogs.statements).toHaveLength(1)
    const where = { blogId, id: { in: ['p_1', 'p_2'] } }
    const [one, two] = await blogs.plain.post.findMany({ where, orderBy: { id: 'asc' } })
    expect(changed).toEqual([one, null, two])
    expect(one).toMatchObject({ title: 'One', status: 'ARCHIVED', views: null })
    expect(two).toMatchObject({ meta: values.meta, labels: ['x'], reads: [1n], isPinned: true })
    expect(await others()).toEqual(before)
  })

  it('leaves a row that has changed since, and the time of a row that is set to what it has', async () => {
    const before = await db.post.findFirst({ where: { id: 'p_3' } })
    const updatedAt = before?.updatedAt ?? new Date()
    const [same] = await retitle(db, [{ id: 'p_3', title: before?.title ?? '', updatedAt }])
    expect(same).toEqual(before)
    const [first] = await retitle(db, [{ id: 'p_3', title: 'First', updatedAt }])
    expect(first?.updatedAt.getTime()).toBeGreaterThan(updatedAt.getTime())
    expect(await retitle(db, [{ id: 'p_3', title: 'Second', updatedAt }])).toEqual([null])
    expect((await db.post.findFirst({ where: { id: 'p_3' } }))?.title).toBe('First')
  })

  it('deletes rows with one statement, and returns what belonged to them', async () => {
    const before = await others()
    const where = { id: 'p_5' }
    const text = {
      orderBy: { id: 'asc' },
      select: { id: true, text: true, author: { select: { name: true } } },
    } as const
    const comments = (await db.post.findFirst({ where, select: { comments: text } }))?.comments
    blogs.statements.length = 0
    const deleted = await db.post.deleteEach({
      where: [where, { id: 'missing' }],
      select: { id: true, comments: { select: text.select } },
    })
    expect(blogs.statements).toHaveLength(1)
    expect(deleted).toEqual([{ id: 'p_5', comments }, null])
    expect(comments?.length).toBeGreaterThan(0)
    expect(await db.post.count({ where })).toBe(0)
    expect(await db.comment.count({ where: { postId: 'p_5' } })).toBe(0)
    expect(await others()).toEqual(before)
  })

  it('deletes a comment and returns its replies, which are of the same table', async () => {
    const data = { postId: 'p_1', authorId: 'a_1', text: 'X' }
    await db.comment.createMany({
      data: [
        { id: 'above', ...data },
        { id: 'below', ...data, replyToId: 'above' },
      ],
    })
    const [below] = await db.comment.deleteEach({
      where: [{ id: 'below' }],
      select: { id: true, replyTo: { select: { id: true, replies: { select: { id: true, replyToId: true } } } } },
    })
    expect(below).toEqual({ id: 'below', replyTo: { id: 'above', replies: [{ id: 'below', replyToId: 'above' }] } })
  })
})
