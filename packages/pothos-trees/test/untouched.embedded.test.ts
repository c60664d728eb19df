import { scalars, treesPlugin } from '@fusion-gateway/pothos-trees'
import SchemaBuilder from '@pothos/core'
import PrismaPlugin from '@pothos/plugin-prisma'
import RelayPlugin from '@pothos/plugin-relay'
import fc from 'fast-check'
import { execute, type GraphQLSchema, parse, printSchema, validate } from 'graphql'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { SchemaTypes } from './blog/builder.ts'
import { dataModel } from './blog/database.ts'
import { executePlanned } from './blog/execute.ts'
import { getDatamodel } from './generated/pothos.ts'
import type { PrismaClient } from './generated/prisma/client.ts'
import { type Blogs, openBlogs } from './open-blogs.ts'

// The same declarations, once with this plugin and once with plugin-prisma as it is, over Prisma Client.

const blogId = 'first'

let blogs: Blogs
let untouched: GraphQLSchema

beforeAll(async () => {
  blogs = await openBlogs()
  untouched = createSchema([PrismaPlugin, RelayPlugin], () => blogs.plain)
})
afterAll(() => blogs.close())

const noClient = () => expect.fail('No field is read by Prisma Client')

function createSchema(plugins: ('trees' | 'prisma' | 'relay')[], client: () => PrismaClient): GraphQLSchema {
  const builder = new SchemaBuilder<SchemaTypes>({
    plugins,
    defaultFieldNullability: false,
    trees: { model: dataModel },
    prisma: { client, dmmf: getDatamodel() },
    relay: { cursorType: 'String' },
  })
  builder.addScalarType('DateTime', scalars.DateTime)
  const Author = builder.prismaObject('Author', {
    fields: (t) => ({
      id: t.exposeID('id'),
      name: t.exposeString('name'),
      posts: t.relation('posts', { query: { orderBy: { createdAt: 'desc' } } }),
      firstPosts: t.relation('posts', {
        args: { take: t.arg.int({ required: true }), isDraft: t.arg.boolean() },
        query: ({ take, isDraft }) => ({
          where: isDraft == null ? {} : { isDraft },
          orderBy: [{ title: 'asc' as const }, { createdAt: 'asc' as const }],
          take,
        }),
      }),
    }),
  })
  const Post = builder.prismaObject('Post', {
    fields: (t) => ({
      id: t.exposeID('id'),
      title: t.exposeString('title'),
      createdAt: t.expose('createdAt', { type: 'DateTime' }),
      author: t.relation('author'),
      comments: t.relation('comments', { query: { orderBy: { createdAt: 'asc' } } }),
      lastComments: t.relation('comments', {
        query: { where: { NOT: { authorId: 'a_0' } }, orderBy: { createdAt: 'desc' }, take: 2 },
      }),
    }),
  })
  builder.prismaObject('Comment', {
    // A type can have another name than its model.
    name: 'Remark',
    fields: (t) => ({
      text: t.exposeString('text'),
      post: t.relation('post'),
      author: t.relation('author', { nullable: true }),
    }),
  })
  builder.queryType({
    fields: (t) => ({
      post: t.prismaField({
        type: Post,
        nullable: true,
        args: { id: t.arg.id({ required: true }) },
        resolve: (query, _root, { id }, { db }) => db.post.findFirst({ ...query, where: { id } }),
      }),
      authors: t.prismaField({
        type: [Author],
        args: { ids: t.arg.idList({ required: true }) },
        resolve: (query, _root, { ids }, { db }) =>
          db.author.findMany({ ...query, where: { id: { in: ids } }, orderBy: { createdAt: 'asc' }, take: 10 }),
      }),
      posts: t.prismaField({
        type: [Post],
        resolve: (query, _root, _args, { db }) =>
          db.post.findMany({ ...query, where: { isDraft: false }, orderBy: { createdAt: 'desc' }, take: 5 }),
      }),
    }),
  })
  return builder.toSchema()
}

const planned = createSchema([treesPlugin, PrismaPlugin, RelayPlugin], noClient)

/** Prisma Client, restricted to the rows of the blog. */
const ownedBy = (plain: PrismaClient) =>
  plain.$extends({
    query: {
      $allModels: {
        findFirst: ({ args, query }) => query({ ...args, where: { AND: [{ blogId }, args.where] } } as typeof args),
        findMany: ({ args, query }) => query({ ...args, where: { AND: [{ blogId }, args.where] } } as typeof args),
      },
    },
  })

async function expectSame(source: string): Promise<void> {
  const document = parse(source)
  expect(validate(planned, document)).toEqual([])
  const expected = await execute({ schema: untouched, document, contextValue: { db: ownedBy(blogs.plain) } })
  expect(expected.errors).toBeUndefined()
  blogs.statements.length = 0
  const contextValue = blogs.contextOf(blogId)
  expect(await executePlanned({ schema: planned, document, contextValue })).toEqual(expected)
  expect(blogs.statements, source).toHaveLength(document.definitions.length)
}

it('the plugin leaves the schema as it is', () => {
  expect(printSchema(planned)).toBe(printSchema(untouched))
})

const number = fc.nat({ max: 20 })
const fields = (scalars: readonly string[], relations: readonly fc.Arbitrary<string>[]) =>
  fc
    .tuple(
      fc.subarray([...scalars], { minLength: 1 }),
      fc.subarray([...relations], { maxLength: Math.min(2, relations.length) }),
    )
    .chain(([own, chosen]) => fc.tuple(...chosen).map((below) => `{ ${[...own, ...below].join(' ')} }`))

/** Selections of a type, to a depth: at most 14 relations, because a statement reads at most 24. */
function selectionOf(type: 'Author' | 'Post' | 'Remark', depth: number): fc.Arbitrary<string> {
  const to = (field: string, of: Parameters<typeof selectionOf>[0]) =>
    selectionOf(of, depth - 1).map((selection) => `${field} ${selection}`)
  const relations = {
    Author: () => [
      to('posts', 'Post'),
      fc
        .tuple(number, to('(take: TAKE)', 'Post'))
        .map(([take, text]) => `few: firstPosts${text.replace('TAKE', String(take))}`),
      to('drafts: firstPosts(take: 3, isDraft: true)', 'Post'),
    ],
    Post: () => [to('author', 'Author'), to('comments', 'Remark'), to('lastComments', 'Remark')],
    Remark: () => [to('post', 'Post'), to('author', 'Author')],
  }
  const scalars = { Author: ['id', 'name'], Post: ['id', 'title', 'createdAt'], Remark: ['text'] }
  return fields(scalars[type], depth > 0 ? relations[type]() : [])
}

it.each([
  ['a row', number.chain((index) => selectionOf('Post', 3).map((text) => `{ post(id: "p_${index}") ${text} }`))],
  ['rows by ids', selectionOf('Author', 3).map((text) => `{ authors(ids: ["a_2", "a_9", "a_0"]) ${text} }`)],
  ['a list', selectionOf('Post', 3).map((text) => `{ posts ${text} }`)],
])('a tree is read with one statement, and equals what Prisma Client reads: %s', async (_, sources) => {
  await fc.assert(fc.asyncProperty(sources, expectSame), { numRuns: process.env['TEST_ALL'] ? 200 : 30 })
})
