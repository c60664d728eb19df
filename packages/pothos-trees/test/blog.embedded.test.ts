import { readFileSync } from 'node:fs'
import { treesPlugin } from '@fusion-gateway/pothos-trees'
import SchemaBuilder from '@pothos/core'
import PrismaPlugin from '@pothos/plugin-prisma'
import RelayPlugin from '@pothos/plugin-relay'
import { printSchema } from 'graphql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { SchemaTypes } from './blog/builder.ts'
import { dataModel } from './blog/database.ts'
import { schema } from './blog/schema.ts'
import { getDatamodel } from './generated/pothos.ts'
import { type Blogs, openBlogs } from './open-blogs.ts'
import { run } from './requests.ts'

let blogs: Blogs

beforeAll(async () => {
  blogs = await openBlogs()
})
afterAll(() => blogs.close())

const all = ['drafts:read']

describe('a list', () => {
  const page = `query ($after: String, $filter: PostFilter) {
    posts(first: 3, after: $after, filter: $filter, orderBy: { field: TITLE, direction: ASC }) {
      edges { cursor node { id title author { name } comments(first: 1) { edges { node { text author { name } } } } } }
      pageInfo { hasNextPage endCursor }
    }
  }`

  it('is read page by page, each with all relations with one statement', async () => {
    const read: { id: string; title: string }[] = []
    for (let after: string | null = null; ; ) {
      const { data, errors, statements } = await run(blogs, page, { variables: { after } })
      expect(errors).toEqual([])
      expect(statements).toHaveLength(1)
      read.push(...data.posts.edges.map(({ node }: { node: { id: string; title: string } }) => node))
      if (!data.posts.pageInfo.hasNextPage) break
      after = data.posts.pageInfo.endCursor
    }
    const expected = await blogs.plain.post.findMany({
      where: { blogId: 'first' },
      orderBy: [{ title: 'asc' }, { id: 'asc' }],
      select: { id: true, title: true },
    })
    expect(read.map(({ id, title }) => ({ id, title }))).toEqual(expected)
  })

  it.each([
    [{ search: 'POST 1' }, { title: { contains: 'Post 1' } }],
    [
      { ids: ['p_1', 'p_2'], notesIsNull: true },
      { id: { in: ['p_1', 'p_2'] }, notes: null },
    ],
    [{ comments: { authorId: 'a_2' } }, { comments: { some: { authorId: 'a_2' } } }],
    [{ or: [{ ids: ['p_3'] }, { not: { isDraft: false } }] }, { OR: [{ id: 'p_3' }, { isDraft: true }] }],
  ])('has the rows that a filter selects: %j', async (filter, where) => {
    const query =
      'query ($filter: PostFilter) { posts(first: 500, filter: $filter) { totalCount nodes: edges { node { id } } } }'
    const { data } = await run(blogs, query, { variables: { filter }, scopes: all })
    const expected = await blogs.plain.post.findMany({
      where: { AND: [{ blogId: 'first' }, where] },
      orderBy: { createdAt: 'desc' },
      select: { id: true },
    })
    expect(expected.length).toBeGreaterThan(0)
    expect(data.posts).toEqual({ totalCount: expected.length, nodes: expected.map((node) => ({ node })) })
  })

  it('of related rows takes the same arguments, and is read with the rows above', async () => {
    const query = `{ post(id: "p_3") { comments(last: 2, filter: { authorId: "a_1" }) { totalCount edges { node { text } } } } }`
    const { data, statements } = await run(blogs, query)
    const expected = await blogs.plain.comment.findMany({
      where: { blogId: 'first', postId: 'p_3', authorId: 'a_1' },
      orderBy: { createdAt: 'asc' },
      select: { text: true },
    })
    expect(data.post.comments).toEqual({
      totalCount: expected.length,
      edges: expected.slice(-2).map((node) => ({ node })),
    })
    expect(statements).toHaveLength(2)
    const all = `{ posts { edges { node { author { allPosts(first: 2, orderBy: { field: TITLE, direction: ASC }) { title } } } } } }`
    expect((await run(blogs, all, { scopes: ['drafts:read'] })).statements).toHaveLength(1)
  })

  it('rejects the cursor of another list, and a page of more than 500', async () => {
    const { data } = await run(blogs, page)
    const after = data.posts.edges[0].cursor
    const others = `query ($after: String) { post(id: "p_1") { comments(after: $after) { edges { cursor } } } }`
    const { errors } = await run(blogs, others, { variables: { after } })
    expect(errors.map(({ message }) => message)).toEqual(['Invalid input: after is not a cursor of comments.'])
    const { errors: tooLong } = await run(blogs, '{ posts(first: 501) { edges { cursor } } }')
    expect(tooLong.map(({ message }) => message)).toEqual(['Invalid input: first must be from 0 to 500.'])
  })
})

describe('rows of another blog', () => {
  it('are not read, although they have the same ids', async () => {
    const query = '{ post(id: "p_1") { title author { name } comments { edges { node { text } } } } }'
    for (const blogId of ['first', 'second', 'third']) {
      const { data } = await run(blogs, query, { blogId })
      const texts = JSON.stringify(data).match(/(?<= of )\w+/g) ?? []
      expect(new Set(texts)).toEqual(new Set(blogId === 'third' ? [] : [blogId]))
    }
  })
})

describe('a scope that the viewer lacks', () => {
  const query = '{ posts(first: 2) { edges { node { title notes author { name email } } } } }'

  it('makes its fields null, each with an error, and the others are returned', async () => {
    const { data, errors } = await run(blogs, query)
    const [{ node }] = data.posts.edges
    expect(node).toEqual({ title: expect.any(String), notes: null, author: { name: expect.any(String), email: null } })
    expect(errors.map(({ path }) => path?.join('.')).toSorted()).toEqual([
      'posts.edges.0.node.author.email',
      'posts.edges.0.node.notes',
      'posts.edges.1.node.author.email',
      'posts.edges.1.node.notes',
    ])
    expect(errors[0]?.originalError).toMatchObject({ code: 'FORBIDDEN', message: 'This needs the scope drafts:read.' })
    const { data: whole, errors: none, statements } = await run(blogs, query, { scopes: all })
    expect(none).toEqual([])
    expect(whole.posts.edges[0].node.author.email).toMatch(/@example.com$/)
    expect(statements).toHaveLength(1)
  })

  it('rejects its conditions, and its relations are not read', async () => {
    const { errors } = await run(blogs, '{ posts(filter: { not: { isDraft: true } }) { edges { cursor } } }')
    expect(errors.map(({ message }) => message)).toEqual(['This needs the scope drafts:read.'])
    const { statements } = await run(blogs, '{ posts { edges { node { author { name allPosts { title } } } } } }')
    expect(statements.filter((text) => text.includes('"authorId" ='))).toEqual([])
  })

  it('is named in the descriptions of the fields', () => {
    const text = printSchema(schema)
    expect(text).toContain('"""Needs the scope `drafts:read`."""\n  notes: String\n')
    expect(text).toContain('"""Needs the scope `drafts:read`."""\n  email: String\n')
  })
})

describe('a mutation', () => {
  const create = `mutation ($title: String!) {
    createPost(input: { authorId: "a_1", title: $title }) { post { title author { name } } userErrors { code field message } }
  }`

  it('returns what it has written, with its relations', async () => {
    const { data, errors } = await run(blogs, create, { variables: { title: 'New' } })
    expect(errors).toEqual([])
    expect(data.createPost).toEqual({
      post: { title: 'New', author: { name: 'Author 1 of first' } },
      userErrors: [],
    })
    expect(await blogs.plain.post.count({ where: { title: 'New' } })).toBe(1)
  })

  it('says what is wrong with its input, and writes nothing', async () => {
    const { data, statements } = await run(blogs, create, { variables: { title: '' } })
    expect(data.createPost).toEqual({
      post: null,
      userErrors: [{ code: 'REQUIRED', field: ['title'], message: 'must not be blank' }],
    })
    expect(statements).toEqual(['BEGIN', 'ROLLBACK'])
  })

  it('with many inputs writes the valid ones with one statement, and rejects the others', async () => {
    const { data, statements } = await run(
      blogs,
      `mutation { createPosts(inputs: [
        { authorId: "a_1", title: "One" }, { authorId: "a_1", title: "" }, { authorId: "a_2", title: "Two" }
      ]) { results { post { title } userErrors { field } } } }`,
    )
    expect(data.createPosts.results).toEqual([
      { post: { title: 'One' }, userErrors: [] },
      { post: null, userErrors: [{ field: ['inputs', '1', 'title'] }] },
      { post: { title: 'Two' }, userErrors: [] },
    ])
    expect(statements.filter((text) => text.startsWith('INSERT'))).toHaveLength(1)
  })
})

it('statistics are read with one statement', async () => {
  const query = '{ postStats(filter: { ids: ["p_0", "p_6", "p_1"] }) { count titles { value count } } }'
  const { data, statements } = await run(blogs, query)
  expect(data.postStats).toEqual({
    count: 3,
    titles: [
      { value: 'Post 0 of first', count: 2 },
      { value: 'Post 1 of first', count: 1 },
    ],
  })
  expect(statements).toHaveLength(1)
})

describe('what is not planned is refused when the schema is built', () => {
  const newBuilder = (plugins: ('trees' | 'prisma' | 'relay')[] = [treesPlugin, PrismaPlugin, RelayPlugin]) =>
    new SchemaBuilder<SchemaTypes>({
      plugins,
      defaultFieldNullability: false,
      trees: { model: dataModel },
      prisma: { client: () => expect.fail('no client'), dmmf: getDatamodel() },
      relay: { cursorType: 'String' },
    })
  type Fields = Parameters<Parameters<ReturnType<typeof newBuilder>['prismaObjectFields']>[1]>[0]

  it.each<[string, (t: Fields) => object, string]>([
    [
      't.relatedConnection',
      (t) => t.relatedConnection('posts', { cursor: 'blogId_id' as never }),
      'use `t.relatedList`',
    ],
    ['t.relationCount', (t) => t.relationCount('posts'), 'a selection of plugin-prisma'],
    ['a relation with a resolver', (t) => t.relation('posts', { resolve: () => [] }), 'a resolver'],
    [
      'select of a field',
      (t) => (t.string as (options: object) => object)({ select: { name: true }, resolve: () => '' }),
      'a selection of plugin-prisma',
    ],
    [
      't.prismaConnection',
      (t) => t.prismaConnection({ type: 'Post', cursor: 'blogId_id' as never, resolve: () => [] }),
      'use `t.list`',
    ],
  ])('%s', (_, field, message) => {
    const builder = newBuilder()
    builder.prismaObject('Post', { fields: (t) => ({ id: t.exposeID('id') }) })
    builder.prismaObject('Author', { fields: (t) => ({ field: field(t as never) as never }) })
    builder.queryType({ fields: (t) => ({ one: t.string({ resolve: () => '' }) }) })
    expect(() => builder.toSchema()).toThrow(message)
  })

  it('types with include, nodes of plugin-prisma, and plugins in another order', () => {
    const builder = newBuilder()
    builder.prismaObject('Author', { include: { posts: true }, fields: (t) => ({ id: t.exposeID('id') }) })
    builder.queryType({ fields: (t) => ({ one: t.string({ resolve: () => '' }) }) })
    expect(() => builder.toSchema()).toThrow('Author has `include` or `select`')
    expect(() => builder.prismaNode('Post', { id: { field: 'id' } } as never)).toThrow('use `builder.prismaObject`')
    const other = newBuilder([PrismaPlugin, treesPlugin])
    other.queryType({ fields: (t) => ({ one: t.string({ resolve: () => '' }) }) })
    expect(() => other.toSchema()).toThrow('[treesPlugin, PrismaPlugin]')
  })
})

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')

it('README.md shows the code of the blog', () => {
  const files = [
    'schema.prisma',
    'blog/database.ts',
    'blog/context.ts',
    'blog/builder.ts',
    'blog/schema.ts',
    'blog/execute.ts',
  ]
  const texts = files.map((file) => withoutIndent(readFileSync(new URL(file, import.meta.url), 'utf8'))).join('\n')
  const blocks = [...readme.matchAll(/```(?:ts|prisma)\n(.*?)```/gs)].map(([, code = '']) => code)
  expect(blocks.length).toBeGreaterThan(8)
  for (const block of blocks) expect(texts).toContain(withoutIndent(block).trim())
})

const withoutIndent = (text: string) => text.replaceAll(/^ +/gm, '')
