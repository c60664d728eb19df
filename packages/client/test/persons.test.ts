import { hasCode } from '@fusion-gateway/client'
import { createSend, follow } from '@fusion-gateway/client/fetch'
import { QueryClient, QueryObserver } from '@tanstack/query-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { connect as connectQueries } from '../../../examples/frontends/sign-out.ts'
import { libraries, type Stage, signIn, startStage } from './libraries.ts'

// Another person signs in on the same page: nothing that the page has kept is shown to this person,
// or written for them.

let stage: Stage
beforeAll(async () => {
  stage = await startStage()
})
afterAll(() => stage.app.close())

const scopes = ['users:read', 'users:write', 'profiles:read', 'events:read']
const me = 'query Me { viewer { user { id name } } }'
const one = 'query One($id: ID!) { user(id: $id) { id name } }'
const rename =
  'mutation Rename($id: ID!, $name: String!) { updateUser(input: { id: $id, name: $name }) { userErrors { code } } }'
const events = 'subscription Events($after: ID) { events(after: $after, types: [USER_UPDATED]) { id resourceId } }'

async function openPage() {
  const person = await signIn(stage, scopes)
  const users = [await person.create.user({ name: 'First' }), await person.create.user({ name: 'Second' })] as const
  const [first, second] = users
  person.become(first.id)
  const onPersonChange = vi.fn()
  return { ...person, first, second, onPersonChange, options: { ...person.options, onPersonChange } }
}

/** How the second person signs in: the page says so, or the token is renewed. */
const changes = {
  'signOut()': (page: Awaited<ReturnType<typeof openPage>>) => {
    page.become(page.second.id)
    page.options.token.signOut()
  },
  'a token of another person': async (page: Awaited<ReturnType<typeof openPage>>) => {
    page.become(page.second.id)
    await page.options.token(await page.options.token())
  },
}
const personOf = (data: unknown) => (data as { viewer?: { user: { id: string } } } | undefined)?.viewer?.user.id
const updated = (name: string) =>
  `mutation ($id: ID!) { updateUser(input: { id: $id, name: "${name}" }) { user { id } } }`

describe.each(Object.entries(changes))('after %s', { timeout: 20_000 }, (_, change) => {
  describe.each(Object.entries(libraries))('%s', (__, connect) => {
    it('shows nothing of the first person, and reads what is shown again', async () => {
      const page = await openPage()
      const { first, second } = page
      const client = connect(page.options)
      const shown = client.watch(me, {})
      await vi.waitFor(() => expect(personOf(shown.shown()?.data)).toBe(first.id), 10_000)
      expect((await client.read(one, { id: first.id })).data).toMatchObject({ user: { name: 'First' } })
      await change(page)
      expect((await client.read(one, { id: second.id })).data).toMatchObject({ user: { name: 'Second' } })
      expect((await client.read(one, { id: first.id })).data).toEqual({ user: null })
      await vi.waitFor(() => expect(personOf(shown.shown()?.data)).toBe(second.id), 10_000)
      expect(page.onPersonChange).toHaveBeenCalledOnce()
    })

    it('sends no mutation again that the first person has begun', async () => {
      const page = await openPage()
      const client = connect(page.options)
      await client.read(me)
      const sent = Promise.withResolvers<void>()
      page.answerOnce('mutation Rename', async () => {
        sent.resolve()
        return new Response('{}', { status: 503, headers: { 'retry-after': '1' } })
      })
      const waiting = client.mutate(rename, { id: page.second.id, name: 'By the first' }).catch((error) => ({ error }))
      await sent.promise
      await change(page)
      // The next request shows whose token it is.
      await client.read('query Next { viewer { scopes } }')
      expect(hasCode((await waiting).error, 'PERSON_CHANGED')).toBe(true)
      expect(page.requestsOf('mutation Rename')).toHaveLength(1)
      // The same click is another action.
      await client.mutate(rename, { id: page.second.id, name: 'By the second' }, 'action')
      const keys = page.requestsOf('mutation Rename').map(({ headers }) => headers.get('idempotency-key'))
      expect(keys.at(-1)).toBe('action-1')
    })

    it.each(['socket', 'stream'] as const)('follows as the second person by %s', async (transport) => {
      const page = await openPage()
      const { first, second, run } = page
      const client = connect({ ...page.options, transport })
      await client.read(me)
      const received: unknown[] = []
      client.follow(events, {}, ({ data }) =>
        received.push((data as { events: { resourceId: string } }).events.resourceId),
      )
      let count = 0
      const writeUntil = (id: string, seen: string) =>
        vi.waitFor(
          async () => {
            count += 1
            await run(updated(`Name ${count}`), { id })
            expect(received).toContain(seen)
          },
          { timeout: 10_000, interval: 300 },
        )
      await writeUntil(first.id, first.id)
      await change(page)
      await client.read(one, { id: second.id })
      await writeUntil(second.id, second.id)
      received.length = 0
      await run(updated('Later'), { id: first.id })
      await writeUntil(second.id, second.id)
      expect(new Set(received)).toEqual(new Set([second.id]))
    })
  })

  it('fetch reads and follows as the second person', async () => {
    const page = await openPage()
    const { first, second } = page
    const send = createSend(page.options)
    onTestFinished(() => send.close())
    expect(personOf((await send(me)).data)).toBe(first.id)
    const results = follow<{ user: { name: string } | null }>(
      send,
      'subscription One($id: ID!) { user(id: $id) { id name } }',
      { id: first.id },
    )
    expect((await results.next()).value?.data.user).toMatchObject({ name: 'First' })
    await change(page)
    expect(personOf((await send(me)).data)).toBe(second.id)
    // The second person does not see the first.
    expect((await results.next()).value?.data.user).toBeNull()
    expect(page.onPersonChange).toHaveBeenCalledOnce()
  })
})

it.each(Object.entries(libraries))('%s shows nothing after a sign-out without another person', async (_, connect) => {
  const page = await openPage()
  const onSignedOut = vi.fn()
  const client = connect({ ...page.options, onSignedOut })
  const shown = client.watch(me, {})
  await vi.waitFor(() => expect(personOf(shown.shown()?.data)).toBe(page.first.id), 10_000)
  page.become(undefined)
  page.options.token.signOut()
  await vi.waitFor(() => expect(onSignedOut).toHaveBeenCalledOnce(), 10_000)
  await vi.waitFor(
    () => expect(shown.shown()).toMatchObject({ data: undefined, error: { name: expect.any(String) } }),
    10_000,
  )
})

it('TanStack Query shows nothing of the first person, by the example of the documentation', async () => {
  const page = await openPage()
  const { fetch } = globalThis
  globalThis.fetch = async (input, init) => {
    if (String(input).endsWith('/token'))
      return page.options.token().then((accessToken) => Response.json({ accessToken, expiresInSeconds: 900 }))
    if (!String(input).endsWith('/session')) return fetch(input, init)
    page.become(page.second.id)
    page.options.token.signOut()
    return new Response(null, { status: 204 })
  }
  const queries = new QueryClient()
  const { send, signOut } = connectQueries(new URL(stage.url).origin, queries)
  onTestFinished(() => send.close())
  const observer = new QueryObserver(queries, { queryKey: ['me'], queryFn: () => send(me) })
  const shown: unknown[] = []
  onTestFinished(observer.subscribe(({ data }) => void shown.push(personOf(data?.data))))
  await vi.waitFor(() => expect(shown.at(-1)).toBe(page.first.id), 10_000)
  await signOut()
  await vi.waitFor(() => expect(shown.at(-1)).toBe(page.second.id), 10_000)
  expect(shown.slice(shown.lastIndexOf(page.first.id))).toContain(undefined)
})
