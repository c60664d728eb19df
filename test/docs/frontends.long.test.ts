import { gql } from '@apollo/client/core'
import { createSend } from '@fusion-gateway/client/fetch'
import { InfiniteQueryObserver, QueryClient, QueryObserver } from '@tanstack/query-core'
import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import { effectScope, ref, watch } from 'vue'
import * as apollo from '../../examples/frontends/apollo.ts'
import { followUsers } from '../../examples/frontends/follow-users.ts'
import { createForm, type FormState } from '../../examples/frontends/form.ts'
import * as liveApollo from '../../examples/frontends/live-apollo.ts'
import { liveUsers } from '../../examples/frontends/live-tanstack.ts'
import * as liveUrql from '../../examples/frontends/live-urql.ts'
import { showUsers } from '../../examples/frontends/live-users.ts'
import { createPoll } from '../../examples/frontends/poll.ts'
import { createRename } from '../../examples/frontends/rename.ts'
import { connect } from '../../examples/frontends/send.ts'
import { usersOptions } from '../../examples/frontends/tanstack-query.ts'
import { createTokenBackend } from '../../examples/frontends/token-backend.ts'
import { createTokenRoute } from '../../examples/frontends/token-route.ts'
import * as urql from '../../examples/frontends/urql.ts'
import { useQuery } from '../../examples/frontends/vue.ts'
import { type Site, startSite } from '../clients/frontends/site.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { addressOf } from '../support/events.ts'
import { createOneOfEach, factoriesFor } from '../support/factories.ts'

let app: TestApp
let tenant: TestTenant
let rows: Awaited<ReturnType<typeof createOneOfEach>>
let backend: FastifyInstance
/** The origin of the application, with its backend and the gateway. */
let site: Site
/** What the signed-in person may do. Undefined: nobody is signed in. */
let scopes: string[] | undefined
const leave = vi.fn()
const toggle = vi.fn()

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  rows = await createOneOfEach(app, tenant)
  const url = `${await addressOf(app)}/graphql`
  backend = createTokenBackend({ url, apiKey: tenant.key, inputFor: async () => scopes && { scopes } })
  site = await startSite({}, async () => {
    const { statusCode, body } = await backend.inject({ method: 'POST', url: '/token' })
    return new Response(body, { status: statusCode })
  })
  site.connect(url)
  vi.stubGlobal('location', { assign: leave })
  vi.stubGlobal('document', Object.assign(new EventTarget(), { hidden: false, body: { classList: { toggle } } }))
})
afterAll(async () => {
  vi.unstubAllGlobals()
  await site.close()
  await backend.close()
  await app.close()
})
beforeEach(() => {
  scopes = ['users:read', 'users:write', 'events:read']
})

function openPage() {
  const send = connect(site.origin)
  onTestFinished(() => send.close())
  return send
}

const createUser = (name: string) => factoriesFor(app, tenant).user({ name })

it('a page has a token of its backend, and shows the sign-in when the session has ended', async () => {
  const { data } = await openPage()('{ viewer { scopes } }')
  expect(data).toEqual({ viewer: { scopes } })
  scopes = undefined
  await expect(openPage()('{ viewer { scopes } }')).rejects.toMatchObject({ isSignedOut: true })
  expect(leave).toHaveBeenCalledWith('/sign-in')
})

it.each([
  [
    'Apollo Client',
    async (id: string) => {
      const client = apollo.connect(site.origin)
      onTestFinished(() => client.stop())
      const query = gql('query User($id: ID!) { user(id: $id) { id email } }')
      const { data } = await client.query({ query, variables: { id } })
      return apollo.emailOf(client, data as Parameters<typeof apollo.emailOf>[1])
    },
  ],
  [
    'urql',
    async (id: string) => {
      const client = urql.connect(site.origin)
      return urql.emailOf(await client.query('query User($id: ID!) { user(id: $id) { id email } }', { id }).toPromise())
    },
  ],
])('a page with %s says what is withheld', async (_, readEmail) => {
  expect(await readEmail(rows.user.id)).toBe('You may not see it')
  scopes = ['users:read', 'contacts:read']
  expect(await readEmail(rows.user.id)).toBe(rows.user.email)
})

it.each<[string, (show: (data: unknown) => void) => () => void]>([
  [
    'Apollo Client',
    (show) => {
      const client = apollo.connect(site.origin)
      onTestFinished(() => client.stop())
      return liveApollo.showUsers(client, show)
    },
  ],
  ['urql', (show) => liveUrql.showUsers(urql.connect(site.origin), show)],
  [
    'TanStack Query',
    (show) =>
      new QueryObserver(new QueryClient(), liveUsers(openPage())).subscribe(({ data }) =>
        show(data?.data ?? undefined),
      ),
  ],
  [
    'fetch',
    (show) => {
      const ended = new AbortController()
      void showUsers(openPage(), show, ended.signal)
      return () => ended.abort()
    },
  ],
])('a page with %s follows a live query until it ends that', async (_, follow) => {
  vi.stubGlobal('window', globalThis)
  onTestFinished(() => void Reflect.deleteProperty(globalThis, 'window'))
  let shown: unknown
  const end = follow((data) => {
    shown = data ?? shown
  })
  const name = `0 ${crypto.randomUUID()}`
  await vi.waitFor(() => expect(shown).toMatchObject({ users: { nodes: expect.anything() } }))
  await createUser(name)
  await vi.waitFor(() => expect(JSON.stringify(shown)).toContain(name), 5_000)
  end()
  const before = shown
  await createUser(`0 ${crypto.randomUUID()}`)
  await openPage()('{ users(first: 1) { nodes { id } } }')
  expect(shown).toBe(before)
})

it('a form that is sent again after a lost response writes once', async () => {
  const user = await createUser('Before')
  const shown = { id: user.id, updatedAt: user.updatedAt.toISOString() }
  const rename = createRename(openPage())
  void site.fail('Rename', (forward) => forward().then(() => 'lost'), 4)
  await expect(rename(shown, 'After')).rejects.toThrow('fetch failed')
  expect((await rename(shown, 'After')).data).toMatchObject({ updateUser: { user: { name: 'After' }, userErrors: [] } })
  const keys = site.requestsOf('Rename').map(({ headers }) => headers['idempotency-key'])
  expect([keys.length, new Set(keys).size]).toEqual([5, 1])
  expect(toggle.mock.lastCall).toEqual(['waiting', false])
  // The form still has the row from before it was saved.
  expect((await rename(shown, 'Other')).data).toMatchObject({ updateUser: { userErrors: [{ code: 'CONFLICT' }] } })
})

it('a form stays open until it has saved, and says what the person can do', async () => {
  const { id } = await createUser('Before')
  const send = openPage()
  const mutation = `mutation RenameByForm($id: ID!, $name: String!) {
    updateUser(input: { id: $id, name: $name }) { userErrors { message } }
  }`
  let name = ''
  const shown: FormState[] = []
  const submit = createForm(
    (action) => send(mutation, { id, name }, { action }),
    (state) => void shown.push(state),
  )
  await submit()
  expect(shown.splice(0)).toEqual([
    { isOpen: true, isSending: true, messages: [] },
    { isOpen: true, isSending: false, messages: [expect.any(String)] },
  ])
  name = 'After'
  void site.fail('RenameByForm', (forward) => forward().then(() => 'lost'), 4)
  await submit()
  const messages = ['Not saved, or not known: try again. Nothing is saved twice.']
  expect(shown.splice(0).at(-1)).toEqual({ isOpen: true, isSending: false, messages, code: 'NO_RESPONSE' })
  await submit()
  expect(shown.at(-1)).toEqual({ isOpen: false, isSending: false, messages: [] })
})

it('the route of a token backend lets staff see the tenant, and others what is theirs', async () => {
  vi.stubEnv('GATEWAY_URL', `${site.origin}/graphql`)
  vi.stubEnv('GATEWAY_KEY', tenant.key)
  onTestFinished(() => void vi.unstubAllEnvs())
  let session: { userId: string; isStaff: boolean } | undefined
  const handle = createTokenRoute(async () => session)
  const read = async () => {
    const { status, body } = await handle(new Request(`${site.origin}/token`, { method: 'POST' })).then(
      async (response) => ({ status: response.status, body: await response.json() }),
    )
    if (status !== 200) return status
    const send = createSend({ url: `${site.origin}/graphql`, token: async () => body.accessToken })
    onTestFinished(() => send.close())
    const { data } = await send<{ viewer: { user: { id: string } | null } }>('{ viewer { user { id } } }')
    return data.viewer.user?.id
  }
  expect(await read()).toBe(401)
  session = { userId: rows.user.id, isStaff: false }
  expect(await read()).toBe(rows.user.id)
  session = { userId: rows.user.id, isStaff: true }
  expect(await read()).toBeUndefined()
})

it('TanStack Query loads a list page by page', async () => {
  for (let number = 1; number <= 21; number += 1) await createUser(`Tanya ${number}`)
  const client = new QueryClient()
  onTestFinished(() => client.clear())
  const list = new InfiniteQueryObserver(client, usersOptions(openPage(), 'Tanya'))
  const [first] = (await list.refetch()).data?.pages ?? []
  expect([first?.data.users?.nodes.length, list.getCurrentResult().hasNextPage]).toEqual([20, true])
  const { data } = await list.fetchNextPage()
  expect(data?.pages.map((page) => page.data.users?.nodes.length)).toEqual([20, 1])
  expect(list.getCurrentResult().hasNextPage).toBe(false)
})

it('Vue sends a query again when its variables change, and ends it with its component', async () => {
  const id = ref(rows.user.id)
  const component = effectScope()
  const query = 'query ($id: ID!) { user(id: $id) { name email } }'
  const { sent, error } = component.run(() =>
    useQuery<{ user: { name: string } | null }>(openPage(), query, () => ({ id: id.value })),
  ) as ReturnType<typeof useQuery<{ user: { name: string } | null }>>
  const next = () => new Promise((resolve) => watch(sent, resolve, { once: true, flush: 'sync' }))
  await next()
  expect(sent.value?.data).toEqual({ user: { name: rows.user.name, email: null } })
  expect(sent.value?.withheld('user.email')).toBe('FORBIDDEN')
  const changed = next()
  id.value = 'usr_missing'
  expect(await changed).toMatchObject({ data: { user: null } })
  component.stop()
  expect(error.value).toBeUndefined()
})

it('a list that is followed shows each change', async () => {
  const { name } = await createUser('Followed')
  const shown: unknown[] = []
  const closed = new AbortController()
  const following = followUsers(
    openPage(),
    ({ users }) => void shown.push(users?.nodes.map((user) => user.name)),
    closed.signal,
  )
  await vi.waitFor(() => expect(shown).toEqual([expect.arrayContaining([name])]))
  await vi.waitFor(async () => {
    await createUser('Another')
    expect(shown.length).toBeGreaterThan(1)
  }, 10_000)
  closed.abort()
  await following.catch((error: unknown) => expect(error).toBe(closed.signal.reason))
})

it('a server that renders pages sees what the user sees', async () => {
  await createUser('Other')
  vi.stubEnv('GATEWAY_URL', `${site.origin}/graphql`)
  vi.stubEnv('GATEWAY_KEY', tenant.key)
  onTestFinished(() => void vi.unstubAllEnvs())
  const { sendFor } = await import('../../examples/frontends/server.ts')
  const { data } = await sendFor({ userId: rows.user.id })('{ users { nodes { id } } }')
  expect(data).toEqual({ users: { nodes: [{ id: rows.user.id }] } })
})

it('a poll returns a resource of the REST interface when it has changed', async () => {
  const { id } = await createUser('Before')
  const address = await addressOf(app)
  const poll = createPoll(`${address}/users/${id}`, createSend({ url: `${address}/graphql`, apiKey: tenant.key }))
  expect(await poll()).toMatchObject({ name: 'Before' })
  expect(await poll()).toBeUndefined()
  await app.rest(tenant, 'PUT', `/users/${id}`, { name: 'After' })
  expect(await poll()).toMatchObject({ name: 'After' })
  expect(await poll()).toBeUndefined()
})
