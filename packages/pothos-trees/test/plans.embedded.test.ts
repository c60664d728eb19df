import { parse } from 'graphql'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Blogs, openBlogs } from './open-blogs.ts'
import { run } from './requests.ts'

let blogs: Blogs

beforeAll(async () => {
  blogs = await openBlogs()
})
afterAll(() => blogs.close())

it('the plan of a document that is sent again follows its variables, its operation and the viewer', async () => {
  const document = parse(`
    query A($few: Int, $with: Boolean!) {
      post(id: "p_1") { title comments(first: $few) @include(if: $with) { edges { node { text } } } author { name email } }
    }
    query B { post(id: "p_1") { notes } }
  `)
  const commentsOf = async (variables: object) => {
    const { data, statements } = await run(blogs, document, {
      operationName: 'A',
      variables: { ...variables },
      scopes: ['drafts:read'],
    })
    expect(statements).toHaveLength(1)
    expect(data.post.author).toEqual({ name: 'Author 1 of first', email: 'a_1@example.com' })
    return data.post.comments?.edges.length
  }
  expect(await commentsOf({ with: true, few: 1 })).toBe(1)
  expect(await commentsOf({ with: false })).toBeUndefined()
  expect(await commentsOf({ with: true, few: 2 })).toBe(2)
  expect(await commentsOf({ with: true })).toBe(3)

  const lacking = await run(blogs, document, { operationName: 'A', variables: { with: true } })
  expect(lacking.data.post).toMatchObject({
    title: 'Post 1 of first',
    author: { name: 'Author 1 of first', email: null },
  })
  expect(lacking.statements).toHaveLength(3)

  const other = await run(blogs, document, { operationName: 'B', scopes: ['drafts:read'] })
  expect(other.data.post).toEqual({ notes: null })
  expect(other.statements[0]).not.toContain('title')
})

it('an operation that cannot be executed has a plan too', async () => {
  const document = parse('query A($id: ID!) { post(id: $id) { title } } query B { posts { edges { cursor } } }')
  const missing = await run(blogs, document, { operationName: 'A' })
  expect(missing.errors.map(({ message }) => message)).toEqual([
    'Variable "$id" of required type "ID!" was not provided.',
  ])
  const unnamed = await run(blogs, document)
  expect(unnamed.errors.map(({ message }) => message)).toEqual([
    'Must provide operation name if query contains multiple operations.',
  ])
  expect([...missing.statements, ...unnamed.statements]).toEqual([])
})
