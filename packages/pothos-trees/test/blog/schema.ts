import { filledText, parseInput, writeEach, writeOne } from '@fusion-gateway/input'
import { groups, listArgs, listQuery, pointsOfScan, rowCount, type Stats, withText } from '@fusion-gateway/pothos-trees'
import { z } from 'zod'
import { builder } from './builder.ts'
import type { Context } from './context.ts'

const Author = builder.prismaObject('Author', {
  fields: (t) => ({
    id: t.exposeID('id'),
    name: t.exposeString('name'),
    email: t.exposeString('email', { scope: 'drafts:read', isMasked: true }),
    posts: t.relation('posts', { query: { where: { isDraft: false }, orderBy: { createdAt: 'desc' }, take: 3 } }),
  }),
})

const Comment = builder.prismaObject('Comment', {
  fields: (t) => ({
    text: t.exposeString('text'),
    author: t.relation('author'),
  }),
})

const Post = builder.prismaObject('Post', {
  fields: (t) => ({
    id: t.exposeID('id'),
    title: t.exposeString('title'),
    author: t.relation('author'),
    notes: t.exposeString('notes', { nullable: true, scope: 'drafts:read' }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
  }),
})

builder.queryField('post', (t) =>
  t.prismaField({
    type: Post,
    nullable: true,
    args: { id: t.arg.id({ required: true }) },
    resolve: (query, _root, { id }, { db }) => db.post.findFirst({ ...query, where: { id } }),
  }),
)

const CommentFilter = builder.filter('Comment', {
  plural: 'comments',
  fields: (t) => ({
    ids: t.idList({ description: 'One of these ids.', where: (ids) => ({ id: { in: ids } }) }),
    authorId: t.id({ description: 'The id of the author.', where: (authorId) => ({ authorId }) }),
  }),
})

const PostFilter = builder.filter('Post', {
  plural: 'posts',
  fields: (t) => ({
    ids: t.idList({ description: 'One of these ids.', where: (ids) => ({ id: { in: ids } }) }),
    search: t.string({ description: 'A part of the title.', isScan: true, where: (text) => withText(text, 'title') }),
    isDraft: t.boolean({ description: 'Drafts.', scope: 'drafts:read', where: (isDraft) => ({ isDraft }) }),
    comments: t.relation(CommentFilter, {
      description: 'A comment that this filter selects.',
      scope: undefined,
      where: (some) => ({ comments: { some } }),
    }),
    ...t.nulls(['notes'], { scope: 'drafts:read' }),
    ...t.logic(),
  }),
})

const PostOrder = builder.order('Post', {
  plural: 'posts',
  fields: {
    CREATED_AT: { description: 'The creation time.', orderBy: (sort) => ({ createdAt: sort }) },
    TITLE: { description: 'The title.', orderBy: (sort) => ({ title: sort }) },
  },
  byDefault: { field: 'CREATED_AT', direction: 'DESC', description: 'Newest first' },
})

const posts = builder.list(Post, { plural: 'posts', filter: PostFilter, order: PostOrder })
const comments = builder.list(Comment, { plural: 'comments', filter: CommentFilter })

builder.queryField('posts', (t) => t.list(posts, { description: 'Lists the posts.' }))

builder.prismaObjectField(Post, 'comments', (t) => t.relatedList('comments', comments, { description: 'The comments' }))

const choices = { plural: 'posts', filter: PostFilter, order: PostOrder }

builder.prismaObjectField(Author, 'allPosts', (t) =>
  t.relation('posts', { scope: 'drafts:read', args: listArgs(t, choices), query: listQuery(choices) }),
)

const newPost = z.object({ authorId: z.string(), title: filledText })

const createPosts = ({ db }: Context, inputs: readonly z.input<typeof newPost>[]) =>
  writeEach(inputs, {
    parse: (input) => ({ ...parseInput(newPost, input), id: crypto.randomUUID() }),
    write: (posts) => db.post.createManyAndReturn({ data: posts }),
  })

const createPost = builder.writeField(
  'createPost',
  {
    description: 'The post to create.',
    inputFields: (t) => ({ authorId: t.id({ required: true }), title: t.string({ required: true }) }),
  },
  {
    description: 'Creates a post.',
    resolve: (_root, { input }, context) => writeOne(createPosts)(context, input),
  },
  { outputFields: (t) => ({ post: t.field({ type: Post, resolve: (post) => post }) }) },
)

builder.bulkWriteField('createPosts', createPost, {
  description: 'Creates posts.',
  inputsDescription: 'The posts to create',
  resolve: (_root, { inputs }, context) => createPosts(context, inputs),
})

const PostStats = builder.objectRef<Stats>('PostStats').implement({
  fields: (t) => ({
    count: rowCount(t, 'The number of posts.'),
    titles: groups(t, 'The number of posts of each title.', (limit) => ({ of: 'values', field: 'title', limit })),
  }),
})

builder.queryField('postStats', (t) =>
  t.stats({ type: PostStats, filter: PostFilter, plural: 'posts', description: 'Statistics of the posts.' }),
)

builder.queryField('longPosts', (t) =>
  t.prismaField({
    type: [Post],
    args: { search: t.arg.string({ required: true }) },
    cost: { length: 20, extra: () => pointsOfScan },
    resolve: (query, _root, { search }, { db }) =>
      db.post.findMany({ ...query, where: withText(search, 'title'), orderBy: { createdAt: 'desc' }, take: 20 }),
  }),
)

export const schema = builder.toSchema()
