import { gql } from '@apollo/client/core'
import { createSend, live } from '@fusion-gateway/client/fetch'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { endCursorOf } from '../../../test/clients/frontends/page.ts'
import { documents, type Library, libraries, type Stage, signIn, startStage } from './libraries.ts'

let stage: Stage
beforeAll(async () => {
  stage = await startStage()
})
afterAll(() => stage.app.close())

// Only a page follows.
beforeEach(() => void vi.stubGlobal('window', globalThis))
afterEach(() => vi.unstubAllGlobals())

const users = 'query LiveUsers @live { users(first: 10) { totalCount nodes { id name } } }'
const failing = 'query LiveContact($id: ID!) @live { user(id: $id) { id name email } }'

const namesOf = (data: unknown) =>
  (data as { users: { nodes: { name: string }[] } } | undefined)?.users.nodes.map(({ name }) => name)

const remove = 'mutation ($id: ID!) { deleteUser(input: { id: $id }) { deletedUserId } }'

describe.each(Object.entries(libraries))('a live query of %s', (_, connect) => {
  async function open(transport: 'socket' | 'stream' = 'stream') {
    const person = await signIn(stage)
    const client = connect({ ...person.options, transport })
    /** The streams that are open. */
    const streams = () =>
      person
        .requestsOf('query LiveUsers')
        .filter(({ headers, signal }) => headers.get('accept') === 'text/event-stream' && !signal?.aborted)
    return { ...person, client, streams }
  }

  const shows = (view: ReturnType<Library['watch']>, ...names: string[]) =>
    vi.waitFor(() => expect(namesOf(view.shown()?.data)).toEqual(names), { timeout: 5_000, interval: 5 })

  it.each(['socket', 'stream'] as const)('shows by a %s what others create, rename and delete', async (transport) => {
    const { client, create, run } = await open(transport)
    const first = await create.user({ name: 'First' })
    const view = client.watch(users, {})
    await shows(view, 'First')
    const second = await create.user({ name: 'Second' })
    await shows(view, 'First', 'Second')
    await run(documents.rename, { id: second.id, name: 'Renamed' })
    await shows(view, 'First', 'Renamed')
    await run(remove, { id: first.id })
    await shows(view, 'Renamed')
    expect(view.shown()?.data).toMatchObject({ users: { totalCount: 1 } })
  })

  it('follows again on the next visit, and ends with the last page that shows it', async () => {
    const { client, create, streams } = await open()
    await create.user({ name: 'First' })
    const [one, other] = [client.watch(users, {}), client.watch(users, {})]
    await shows(one, 'First')
    one.close()
    await create.user({ name: 'Second' })
    await shows(other, 'First', 'Second')
    other.close()
    await vi.waitFor(() => expect(streams()).toEqual([]))
    const next = client.watch(users, {})
    await shows(next, 'First', 'Second')
    await create.user({ name: 'Third' })
    await shows(next, 'First', 'Second', 'Third')
  })

  it('shows what the page writes, and one stream is open', async () => {
    const { client, streams } = await open()
    const view = client.watch(users, {})
    await shows(view)
    const created = await client.mutate(documents.create, { name: 'First' })
    await shows(view, 'First')
    await client.mutate(documents.create, { name: 'Second' })
    await shows(view, 'First', 'Second')
    const { createUser } = created.data as { readonly createUser: { readonly user: { readonly id: string } } }
    await client.mutate(documents.remove, { id: createUser.user.id })
    await shows(view, 'Second')
    expect(streams()).toHaveLength(1)
  })

  it('does not show after its own write what was read before it', async () => {
    const { client, create, run, answerOnce } = await open()
    const { id } = await create.user({ name: 'Before' })
    const [wasRead, isWritten] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let isLate = false
    answerOnce('query LiveUsers', async (forward) => {
      const response = await forward()
      const late = new TransformStream<Uint8Array, Uint8Array>({
        async transform(chunk, controller) {
          if (isLate) await new Promise((wake) => setTimeout(wake, 200))
          isLate = new TextDecoder().decode(chunk).includes('Others')
          if (isLate) wasRead.resolve()
          if (isLate) await isWritten.promise
          controller.enqueue(chunk)
        },
      })
      return new Response(response.body?.pipeThrough(late), response)
    })
    const view = client.watch(users, {})
    await shows(view, 'Before')
    await run(documents.rename, { id, name: 'Others' })
    await wasRead.promise
    await client.mutate(documents.rename, { id, name: 'Mine' })
    await shows(view, 'Mine')
    isWritten.resolve()
    const until = performance.now() + 700
    while (performance.now() < until) {
      expect(namesOf(view.shown()?.data)).toEqual(['Mine'])
      await new Promise((wake) => setTimeout(wake, 5))
    }
    await run(documents.rename, { id, name: 'Others again' })
    await shows(view, 'Others again')
  })

  it('shows a change that follows the creation by the page at once', async () => {
    const { client, run, answerOnce } = await open()
    const view = client.watch(users, {})
    await shows(view)
    answerOnce('mutation Create', async (forward) => {
      const response = await forward()
      const { data } = await response.clone().json()
      await run(documents.rename, { id: data.createUser.user.id, name: 'Others' })
      return response
    })
    await client.mutate(documents.create.replace('user { id }', 'user { id name }'), { name: 'Mine' })
    await shows(view, 'Others')
  })

  it('shows what follows a write of the page that was answered before the first result', async () => {
    const { client, create, run, answerOnce } = await open()
    const { id } = await create.user({ name: 'Before' })
    const isWritten = Promise.withResolvers<void>()
    answerOnce('query LiveUsers', async (forward) => {
      const response = await forward()
      await isWritten.promise
      return response
    })
    const view = client.watch(users, {})
    await client.mutate(documents.rename, { id, name: 'Mine' })
    isWritten.resolve()
    await shows(view, 'Mine')
    await run(documents.rename, { id, name: 'Others' })
    await shows(view, 'Others')
  })

  it('keeps no error of an earlier result', async () => {
    const { client, create, answerOnce } = await open()
    const { id } = await create.user({ name: 'A' })
    const data = (email: string | null) => ({ user: { __typename: 'User', id, name: 'A', email } })
    const shown = { user: { email: 'a@example.com' } }
    const errors = [{ message: 'No.', path: ['user', 'email'], extensions: { code: 'FORBIDDEN' } }]
    const results = [{ data: data(null), errors }, { data: data('a@example.com') }]
    answerOnce(
      'query LiveContact',
      async () =>
        new Response(results.map((result) => `event: next\ndata: ${JSON.stringify(result)}\n\n`).join(''), {
          headers: { 'content-type': 'text/event-stream' },
        }),
    )
    const view = client.watch(failing, { id })
    await vi.waitFor(() => expect(view.shown()).toMatchObject({ data: shown }))
    expect(view.shown()?.error).toBeUndefined()
  })

  it('is read once by a promise, and on a server', async () => {
    const page = await open()
    await page.create.user({ name: 'First' })
    expect(namesOf((await page.client.read(users)).data)).toEqual(['First'])
    await vi.waitFor(() => expect(page.streams()).toEqual([]))
    vi.unstubAllGlobals()
    const server = await open()
    await shows(server.client.watch(users, {}))
    const [request, ...others] = server.requestsOf('query LiveUsers')
    expect(request?.headers.get('accept')).not.toBe('text/event-stream')
    expect(others).toEqual([])
  })
})

it('Apollo Client reads a live query again, and its next page, once', async () => {
  const person = await signIn(stage)
  const { apollo } = libraries['Apollo Client']({ ...person.options, transport: 'stream' })
  for (const name of ['A', 'B', 'Zed']) await person.create.user({ name })
  const query = gql(
    documents.users.replace('query Users($search', 'query LiveUsers($search').replace(') {', ') @live {'),
  )
  const list = apollo?.watchQuery<{ users: { edges: { node: { name: string } }[]; pageInfo: object } }>({ query })
  const subscription = list?.subscribe(() => {})
  onTestFinished(() => subscription?.unsubscribe())
  const names = () => list?.getCurrentResult().data?.users?.edges?.map((edge) => edge?.node?.name)
  await vi.waitFor(() => expect(names()).toEqual(['A', 'B']))
  expect((await list?.refetch())?.data).toMatchObject({ users: { totalCount: 3 } })
  await list?.fetchMore({ variables: { after: endCursorOf(list.getCurrentResult().data) } })
  await vi.waitFor(() => expect(names()).toEqual(['A', 'B', 'Zed']))
  await list?.refetch({ search: 'Zed' })
  await vi.waitFor(() => expect(names()).toEqual(['Zed']))
  await person.create.user({ name: 'Zed 2' })
  await vi.waitFor(() => expect(names()).toEqual(['Zed', 'Zed 2']))
})

it('`live` has each result, the last one for a slow loop, until it is given up', async () => {
  const person = await signIn(stage)
  const send = createSend({ ...person.options, transport: 'stream' })
  onTestFinished(() => send.close())
  const ended = new AbortController()
  const results = live(send, users, {}, { signal: ended.signal })
  expect(namesOf((await results.next()).value?.data)).toEqual([])
  for (const name of ['A', 'B']) await person.create.user({ name })
  let names: string[] | undefined
  while (names?.length !== 2) names = namesOf((await results.next()).value?.data)
  ended.abort()
  expect(await results.next()).toEqual({ value: undefined, done: true })
})
