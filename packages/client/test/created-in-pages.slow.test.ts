import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { endCursorOf } from '../../../test/clients/frontends/page.ts'
import { documents, libraries, type Stage, signIn, startStage } from './libraries.ts'

let stage: Stage
beforeAll(async () => {
  stage = await startStage()
})
afterAll(() => stage.app.close())

interface Users {
  readonly users: {
    readonly totalCount: number
    readonly edges: readonly { readonly node: { readonly name: string } }[]
    readonly pageInfo: { readonly hasNextPage: boolean }
  }
}

const createMany = `mutation Many($inputs: [CreateUserInput!]!) {
  made: createUsers(inputs: $inputs) { results { user { id } } }
}`
const inputsOf = (...names: string[]) => names.map((name) => ({ name, email: 'a@example.com', phone: '1' }))

describe.each(Object.entries(libraries))('%s', (_, connect) => {
  it.each([
    ['before all rows', 'Aaa', 4],
    ['among the rows of the first page', 'Cab', 4],
    ['among the rows of a later page', 'Gab', 4],
    ['behind the rows that are shown', 'Zoe', 4],
    ['behind the last row of a list that is shown as a whole', 'Zoe', 6],
  ])('keeps the pages of a list when a user is created %s', async (_, name, shownFirst) => {
    const { options, create } = await signIn(stage)
    const client = connect(options)
    const names = ['Bea', 'Dan', 'Fay', 'Hal', 'Joe', 'Liz']
    for (const each of names) await create.user({ name: each })
    const list = client.watch(documents.users, {})
    const rows = () => (list.shown()?.data as Users | undefined)?.users
    await vi.waitFor(() => expect(rows()?.totalCount).toBe(6), 10_000)
    /** Loads the next page, and waits until it is shown. */
    const showMore = async () => {
      const shown = rows()?.edges.length ?? 0
      await list.more({ after: endCursorOf(list.shown()?.data) })
      await vi.waitFor(() => expect(rows()?.edges.length).toBeGreaterThan(shown), 10_000)
    }
    for (let count = 4; count <= shownFirst; count += 2) await showMore()
    const isRight = (atLeast: number) => {
      const sorted = [...names].toSorted()
      const { edges = [], pageInfo, totalCount } = rows() ?? {}
      expect(edges.map(({ node }) => node.name)).toEqual(sorted.slice(0, edges.length))
      expect([totalCount, pageInfo?.hasNextPage]).toEqual([names.length, edges.length < names.length])
      expect(edges.length).toBeGreaterThanOrEqual(atLeast)
    }
    isRight(shownFirst)
    names.push(name)
    await client.mutate(documents.create, { name })
    await vi.waitFor(() => isRight(shownFirst === 6 ? 7 : 4), 10_000)
    // Others are counted from what is shown now.
    names.push('Abe', 'Gus')
    await client.mutate(createMany, { inputs: inputsOf('Abe', 'Gus') })
    await vi.waitFor(() => isRight(shownFirst === 6 ? 9 : 4), 10_000)
    while (rows()?.pageInfo.hasNextPage) await showMore()
    isRight(names.length)
  })
})
