import { ApolloClient, gql, InMemoryCache } from '@apollo/client/core'
import { createAction, hasCode } from '@fusion-gateway/client'
import {
  cacheOptions as apolloCache,
  createApolloClient,
  createApolloLink,
  defaultOptions,
  withheld,
} from '@fusion-gateway/client/apollo'
import { cacheOptions, createUrqlClient } from '@fusion-gateway/client/urql'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { endCursorOf } from '../../../test/clients/frontends/page.ts'
import type { ClientOptions } from '../src/core.ts'
import {
  allScopes,
  documents,
  failed,
  libraries,
  manyAccounts,
  type Shown,
  type Stage,
  signIn,
  startStage,
} from './libraries.ts'

let stage: Stage
beforeAll(async () => {
  stage = await startStage()
})
afterAll(() => stage.app.close())

const users = (data: unknown) =>
  (data as { users: { edges: { node: { id: string } }[] } }).users.edges.map(({ node }) => node.id)

describe.each(Object.entries(libraries))('%s', (_, connect) => {
  async function open(scopes?: readonly string[], more: Partial<ClientOptions> = {}) {
    const warnings = [vi.spyOn(console, 'warn').mockReturnValue(), vi.spyOn(console, 'error').mockReturnValue()]
    onTestFinished(() => {
      for (const warning of warnings) warning.mockRestore()
    })
    const person = await signIn(stage, scopes)
    const client = connect({ ...person.options, ...more })
    return { ...person, client, warnings: () => warnings.flatMap(({ mock }) => mock.calls) }
  }

  it('keeps lists of different orders apart, also by `thenBy`', async () => {
    const { client, create } = await open()
    const ids: string[] = []
    for (const day of [1, 2]) ids.push((await create.user({ name: 'Twin', createdAt: new Date(`2026-01-0${day}`) })).id)
    const thenBy = (direction: string) => ({ thenBy: [{ field: 'CREATED_AT', direction }] })
    for (const isFromCache of [false, true]) {
      expect(users((await client.read(documents.users, thenBy('ASC'), isFromCache)).data)).toEqual(ids)
      expect(users((await client.read(documents.users, thenBy('DESC'), isFromCache)).data)).toEqual(ids.toReversed())
    }
  })

  it('has objects without an id, the fields of fragments on interfaces, and lists without arguments, without a warning', async () => {
    const { client, create, warnings } = await open()
    const { id, name: userName } = await create.user()
    const query = `query One($id: ID!) {
      viewer { scopes }
      tenantStats { users accountsByPlatform { platform count } jobsByStatus { status count } }
      userStats { count platforms { value count } statuses { status count } }
      users { edges { node { id } } }
      node(id: $id) { ... on Node { id } ... on User { name } }
    }`
    for (const isFromCache of [false, true]) {
      expect(await client.read(query, { id }, isFromCache)).toMatchObject({
        data: { userStats: { count: 1 }, users: { edges: [{ node: { id } }] }, node: { id, name: userName } },
      })
    }
    expect(warnings()).toEqual([])
  })

  it('keeps the numbers that two parts of a page read', async () => {
    const { client, requestsOf } = await open()
    const parts = ['count verified { verified }', 'followers { sum } verified { unverified }'].map(
      (part, index) => `query Part${index} { profileStats { ${part} } }`,
    )
    const pages = parts.map((part) => client.watch(part, {}))
    for (const page of pages)
      await vi.waitFor(() => expect(page.shown()?.data).toMatchObject({ profileStats: {} }), 10_000)
    for (const part of parts) expect((await client.read(part, {}, true)).data).toMatchObject({ profileStats: {} })
    expect(requestsOf('profileStats')).toHaveLength(2)
  })

  it('joins the pages of lists: of a root field by edges, and of an object by nodes', async () => {
    const person = await open()
    const { client, create } = person
    const { user, ids } = await manyAccounts(person)
    for (const number of [1, 2]) await create.user({ name: `Zoe ${number}` })
    const list = client.watch(documents.users, {})
    const info = () =>
      (list.shown()?.data as { users: { pageInfo: { endCursor: string } } } | undefined)?.users.pageInfo
    await vi.waitFor(() => expect(info()).toBeDefined(), 10_000)
    await list.more({ after: info()?.endCursor })
    await vi.waitFor(() => expect(users(list.shown()?.data)).toHaveLength(3), 10_000)

    type Accounts = { user: { accountsConnection: { nodes: { id: string }[]; pageInfo: { endCursor: string } } } }
    const accounts = client.watch(documents.accounts, { id: user.id })
    const shown = () => (accounts.shown()?.data as Accounts | undefined)?.user.accountsConnection
    await vi.waitFor(() => expect(shown()?.nodes).toHaveLength(2), 10_000)
    await accounts.more({ id: user.id, after: shown()?.pageInfo.endCursor })
    await vi.waitFor(() => expect(shown()?.nodes.map(({ id }) => id)).toEqual(ids), 10_000)
  })

  it('reads an object of a list from the cache, and asks for a missing one', async () => {
    const { client, create, requestsOf } = await open()
    const { id, name: userName } = await create.user()
    await client.read(documents.users)
    const one = 'query One($id: ID!) { user(id: $id) { id name } }'
    expect((await client.read(one, { id })).data).toMatchObject({ user: { name: userName } })
    expect(requestsOf('query One')).toHaveLength(0)
    for (let visit = 1; visit <= 2; visit += 1)
      expect((await client.read(one, { id: 'usr_missing' })).data).toEqual({ user: null })
    expect(requestsOf('query One')).toHaveLength(1)
  })

  it('says which fields are withheld, on each visit, and while the page changes', async () => {
    const { client, create, run } = await open(allScopes.filter((scope) => scope !== 'contacts:read'))
    const { id } = await create.user()
    const isWithheld = ({ data, error }: Shown) =>
      client.apollo ? withheld(client.apollo, data, 'user.email') === 'FORBIDDEN' : hasCode(error, 'FORBIDDEN')
    for (let visit = 1; visit <= 2; visit += 1) {
      const shown = await client.read(documents.contact, { id })
      expect(shown.data).toMatchObject({ user: { email: null } })
      expect(isWithheld(shown)).toBe(true)
    }
    const page = client.watch(documents.contact, { id })
    const showsName = (text: string) =>
      vi.waitFor(() => expect(page.shown()?.data).toMatchObject({ user: { name: text, email: null } }), 10_000)
    await vi.waitFor(() => expect(page.shown()?.data).toMatchObject({ user: { email: null } }), 10_000)
    await client.mutate(documents.rename, { id, name: 'After' })
    await showsName('After')
    expect(isWithheld(page.shown() as Shown)).toBe(true)
    await run('mutation ($id: ID!) { updateUser(input: { id: $id, name: "Later" }) { user { id } } }', { id })
  })

  it('does not ask again and again for fields that two pages may not read', async () => {
    const { client, create, requestsOf } = await open(allScopes.filter((scope) => scope !== 'contacts:read'))
    const { id } = await create.user()
    const other = 'query Other($id: ID!) { user(id: $id) { id email phone } }'
    const pages = [client.watch(documents.contact, { id }), client.watch(other, { id })]
    for (const page of pages) await vi.waitFor(() => expect(page.shown()?.data).toMatchObject({ user: { id } }), 10_000)
    for (const text of ['One', 'Two']) {
      await client.mutate(documents.rename, { id, name: text })
      await vi.waitFor(() => expect(pages[0]?.shown()?.data).toMatchObject({ user: { name: text } }), 10_000)
    }
    await client.read('{ viewer { keyName } }')
    expect(requestsOf('email').length).toBeLessThanOrEqual(8)
  })

  it('asks again for what could not be read', async () => {
    const { client, create, answerOnce } = await open()
    const { id, name: userName } = await create.user()
    answerOnce('query Users', failed({ users: null }, 'users'))
    const first = await client.read(documents.users)
    expect((first.data as { users: unknown } | null)?.users ?? null).toBeNull()
    expect(hasCode(first.error, 'SERVICE_UNAVAILABLE')).toBe(true)
    expect(users((await client.read(documents.users)).data)).toEqual([id])
    // A field of an object, which another query reads too.
    answerOnce('query Contact', failed({ user: { __typename: 'User', id, name: null, email: null } }, 'user', 'email'))
    expect(hasCode((await client.read(documents.contact, { id })).error, 'SERVICE_UNAVAILABLE')).toBe(true)
    expect(
      (await client.read('query Alias($id: ID!) { user(id: $id) { id mail: email } }', { id })).data,
    ).toMatchObject({
      user: { mail: expect.any(String) },
    })
    expect((await client.read(documents.contact, { id })).error).toBeUndefined()
    expect(userName).toEqual(expect.any(String))
  })

  it('removes from the page what a mutation deletes, and counts again', async () => {
    const person = await open()
    const { client } = person
    const { user, ids } = await manyAccounts(person)
    const [accounts, list] = [client.watch(documents.accounts, { id: user.id }), client.watch(documents.users, {})]
    const shows = (page: typeof list, data: object) =>
      vi.waitFor(() => expect(page.shown()?.data).toMatchObject(data), 10_000)
    await shows(accounts, { user: { accountsConnection: { totalCount: 3 } } })
    await shows(list, { users: { totalCount: 1 } })
    await client.mutate(documents.unlink, { id: ids[0] })
    const left = ids.slice(1).map((id) => ({ id }))
    await shows(accounts, { user: { accounts: left, accountsConnection: { totalCount: 2, nodes: left } } })
    await client.mutate(documents.remove, { id: user.id })
    await shows(list, { users: { totalCount: 0, edges: [] } })
    await shows(accounts, { user: null })
  })

  it('removes what an event deletes, also if a list that was read before arrives later', async () => {
    const person = await open()
    const { client, run, answerOnce, create } = person
    const { user, ids } = await manyAccounts(person)
    const events: unknown[] = []
    client.follow(documents.events, {}, ({ data }) => events.push((data as { events: { type: string } }).events.type))
    await vi.waitFor(async () => {
      await create.user()
      expect(events).not.toEqual([])
    }, 20_000)
    const accounts = client.watch(documents.accounts, { id: user.id })
    const shows = (page: typeof accounts, ...left: string[]) =>
      vi.waitFor(
        () => expect(page.shown()?.data).toMatchObject({ user: { accounts: left.map((id) => ({ id })) } }),
        10_000,
      )
    await shows(accounts, ...ids)
    await run(documents.unlink, { id: ids[0] })
    await shows(accounts, ...ids.slice(1))

    const isRead = Promise.withResolvers<void>()
    const line = Promise.withResolvers<void>()
    answerOnce('query Late', async (forward) => {
      const response = await forward()
      const text = await response.text()
      isRead.resolve()
      await line.promise
      return new Response(text, response)
    })
    const late = client.watch(
      documents.accounts.replace('Accounts(', 'Late(').replace('accounts { id }', 'accounts { id displayName }'),
      { id: user.id },
    )
    await isRead.promise
    events.length = 0
    await run(documents.unlink, { id: ids[1] })
    await vi.waitFor(() => expect(events).toContain('ACCOUNT_UNLINKED'), 10_000)
    line.resolve()
    await shows(late, ...ids.slice(2))
    await shows(accounts, ...ids.slice(2))
  })

  it('does not show an object that was deleted after its query was sent', async () => {
    const { client, create, answerOnce } = await open()
    const { id } = await create.user()
    const isRead = Promise.withResolvers<void>()
    const line = Promise.withResolvers<void>()
    answerOnce('query LateOne', async (forward) => {
      const response = await forward()
      const text = await response.text()
      isRead.resolve()
      await line.promise
      return new Response(text, response)
    })
    const late = client.watch('query LateOne($id: ID!) { user(id: $id) { id name } }', { id })
    await isRead.promise
    await client.mutate(documents.remove, { id })
    line.resolve()
    await vi.waitFor(() => expect(late.shown()?.data).toEqual({ user: null }), 10_000)
    expect((await client.read(documents.contact, { id })).data).toEqual({ user: null })
  })

  it('executes a mutation once for an action, however often it is sent', async () => {
    const { client, answerOnce, run, requestsOf } = await open()
    const lose = async (forward: () => Promise<Response>): Promise<Response> => {
      await forward()
      throw new Error('The page was suspended.')
    }
    const act = createAction()
    const click = () => act((action) => client.mutate(documents.create, { name: 'Once' }, action))
    answerOnce('mutation Create(', lose)
    await click().catch(() => undefined)
    expect(await click()).toMatchObject({ data: { createUser: { user: {} } } })
    const count = async () =>
      (await run<{ users: { totalCount: number } }>('{ users(filter: { search: "Once" }) { totalCount } }')).data.users
        .totalCount
    expect(await count()).toBe(1)
    await click()
    await client.mutate(documents.create, { name: 'Once' })
    expect(await count()).toBe(3)
    const keys = requestsOf('mutation Create(').map(({ headers }) => headers.get('idempotency-key'))
    expect(new Set(keys).size).toBe(3)
  })

  it('renews its token, and says what the gateway rejects', async () => {
    const { client, replaceKey, answerOnce } = await open()
    const me = 'query Me { viewer { keyName } }'
    expect((await client.read(me)).data).toMatchObject({ viewer: { keyName: 'backend' } })
    await replaceKey()
    expect((await client.read('query Again { viewer { keyName scopes } }')).error).toBeUndefined()
    expect(hasCode((await client.read('{ unknown }')).error, 'BAD_USER_INPUT')).toBe(true)
    answerOnce('query Typo', async () => new Response('<html>', { headers: { 'content-type': 'text/html' } }))
    const typo = await client.read('query Typo { tenantStats { users } }').catch((error: unknown) => ({ error }))
    expect(hasCode(typo.error, 'NOT_GRAPHQL')).toBe(true)
    expect(String(typo.error)).toContain(`${stage.url} answered 200 (text/html)`)
    const rejected = connect({ url: stage.url, token: async () => 'no-token' })
    expect(hasCode((await rejected.read(me)).error, 'UNAUTHENTICATED')).toBe(true)
  })

  it('loads queries that got no response when the gateway is back', async () => {
    const { client, answerOnce } = await open(undefined, { attempts: 4 })
    answerOnce('query Me', async () => {
      throw new TypeError('fetch failed')
    })
    answerOnce('query Me', async () => new Response('<html>', { status: 502 }))
    expect((await client.read('query Me { viewer { keyName } }')).data).toMatchObject({
      viewer: { keyName: 'backend' },
    })
  })

  it('aborts the request of a page that is closed', async () => {
    const { client, answerOnce } = await open()
    const begun = Promise.withResolvers<void>()
    const aborted = Promise.withResolvers<unknown>()
    const { fetch } = globalThis
    globalThis.fetch = (input, init) => {
      if (String(init?.body).includes('query Slow')) {
        init?.signal?.addEventListener('abort', () => aborted.resolve(true))
        begun.resolve()
      }
      return fetch(input, init)
    }
    answerOnce('query Slow', () => new Promise(() => {}))
    const page = client.watch('query Slow { viewer { keyName } }', {})
    await begun.promise
    page.close()
    expect(await aborted.promise).toBe(true)
  })

  it('follows a job through the end of its token, and has an error that the gateway answers with', async () => {
    const { client, create, replaceKey, run } = await open()
    const { id } = await create.job()
    const received: unknown[] = []
    const finished = Promise.withResolvers<void>()
    client.follow(documents.job, { id }, ({ data, error }) => {
      received.push(error ?? (data as { job: { status: string } }).job.status)
      if (received.at(-1) === 'CANCELLED') finished.resolve()
      else if (received.length < 3) void replaceKey()
      else void run('mutation ($id: ID!) { cancelJob(input: { id: $id }) { job { id } } }', { id })
    })
    await finished.promise
    expect(received).toEqual(['PENDING', 'PENDING', 'PENDING', 'CANCELLED'])
    const rejected = await new Promise<Shown>((resolve) => client.follow('subscription { unknown }', {}, resolve))
    expect(hasCode(rejected.error, 'BAD_USER_INPUT')).toBe(true)
  })

  it('follows events from where the first query was read', async () => {
    const { client, answerOnce, requestsOf } = await open(undefined, { transport: 'stream' })
    const position = 'evt_000000000390000000000013'
    answerOnce('query Me', async () =>
      Response.json({ data: { viewer: { __typename: 'Viewer', keyName: 'backend' } }, extensions: { position } }),
    )
    await client.read('query Me { viewer { keyName } }')
    await client.read('query Later { viewer { scopes } }')
    const sent = ['query Me', 'query Later'].map((text) => requestsOf(text)[0]?.headers.get('x-position'))
    expect(sent).toEqual(['yes', null])
    answerOnce('subscription Events', () => new Promise(() => {}))
    client.follow(documents.events, {}, () => {})
    await vi.waitFor(() => expect(requestsOf('subscription Events')).toHaveLength(1), 10_000)
    const [request] = requestsOf('subscription Events')
    expect(JSON.parse(request?.body ?? '').variables).toEqual({ after: position })
  })

  it('follows each subscription from the query that was sent first, whatever the events of another', async () => {
    const { client, answerOnce, requestsOf } = await open(undefined, { transport: 'stream' })
    const position = (number: number) => `evt_00000000039000000000001${number}`
    const slow = Promise.withResolvers<void>()
    const answer = (at: string) =>
      Response.json({ data: { viewer: { __typename: 'Viewer', keyName: 'backend' } }, extensions: { position: at } })
    answerOnce('query Slow', async () => {
      await slow.promise
      return answer(position(1))
    })
    answerOnce('query Fast', async () => answer(position(2)))
    const first = client.read('query Slow { viewer { keyName } }')
    await vi.waitFor(() => expect(requestsOf('query Slow')).toHaveLength(1))
    await client.read('query Fast { viewer { keyName scopes } }')
    const event = (id: string) => {
      const data = { events: { __typename: 'Event', id, type: 'JOB_UPDATED', resourceId: 'job_1', userId: null } }
      return `event: next\ndata: ${JSON.stringify({ data })}\n\nevent: complete\ndata:\n\n`
    }
    const stream = (id: string) => async () =>
      new Response(event(id), { headers: { 'content-type': 'text/event-stream' } })
    const [users, jobs] = ['Users', 'Jobs'].map((name) => documents.events.replace('Events', `Of${name}`)) as [
      string,
      string,
    ]
    answerOnce('subscription OfUsers', stream(position(7)))
    const ended = Promise.withResolvers<unknown>()
    client.follow(users, {}, ended.resolve)
    slow.resolve()
    await Promise.all([first, ended.promise])
    answerOnce('subscription OfJobs', () => new Promise(() => {}))
    client.follow(jobs, {}, () => {})
    const starts = (name: string) => requestsOf(`subscription ${name}`).map(({ body }) => JSON.parse(body).variables)
    await vi.waitFor(() => expect(starts('OfJobs')).toHaveLength(1), 10_000)
    expect(starts('OfJobs')).toEqual([{ after: position(1) }])
    expect(starts('OfUsers')).toEqual([{ after: position(1) }])
  })

  it('shows partial data of a subscription with its errors', async () => {
    const { client, create } = await open(allScopes.filter((scope) => scope !== 'contacts:read'))
    const { id } = await create.user()
    const shown = await new Promise<Shown>((resolve) =>
      client.follow('subscription User($id: ID!) { user(id: $id) { id email } }', { id }, resolve),
    )
    expect(shown.data).toMatchObject({ user: { id, email: null } })
    expect(hasCode(shown.error, 'FORBIDDEN')).toBe(true)
  })
})

it('Apollo Client sends the queries of one moment as one request, and mutations alone', async () => {
  const { options, create, sent } = await signIn(stage)
  const { id } = await create.user()
  const client = createApolloClient({ ...options, batch: true })
  onTestFinished(() => client.stop())
  const read = (name: string) => client.query({ query: gql(`query ${name} { viewer { keyName } }`) })
  const [one, other, renamed] = await Promise.all([
    read('One'),
    read('Other'),
    client.mutate({ mutation: gql(documents.rename), variables: { id, name: 'After' } }),
  ])
  expect([one.error, other.error, renamed.error]).toEqual([undefined, undefined, undefined])
  expect(sent.map(({ body }) => [JSON.parse(body)].flat().length).toSorted()).toEqual([1, 2])
})

it('Apollo Client keeps the pages of a list from which something is deleted, also if another part of the page counts it', async () => {
  const { options, create } = await signIn(stage)
  const client = libraries['Apollo Client'](options)
  const ids: string[] = []
  for (const number of [1, 2, 3, 4, 5]) ids.push((await create.user({ name: `User ${number}` })).id)
  const count = documents.users.replace('Users(', 'Count(').replace('first: 2', 'first: 1')
  const counted = client.watch(count.replace(/edges.*\n.*/, 'nodes { id }'), {})
  const list = client.watch(documents.users, {})
  const shows = (...left: string[]) =>
    vi.waitFor(() => {
      expect(list.shown()?.data).toMatchObject({ users: { totalCount: ids.length } })
      expect(users(list.shown()?.data)).toEqual(left)
      expect(counted.shown()?.data).toMatchObject({ users: { totalCount: ids.length, nodes: [{ id: left[0] }] } })
    }, 10_000)
  await shows(...ids.slice(0, 2))
  await list.more({ after: endCursorOf(list.shown()?.data) })
  await shows(...ids.slice(0, 4))
  for (const at of [1, 0]) {
    const [id] = ids.splice(at, 1)
    await client.mutate(documents.remove, { id })
    await shows(...ids.slice(0, 2 + at))
  }
})

it.each([
  ['that are joined', cacheOptions],
  ['that replace each other', { ...cacheOptions, resolvers: {} }],
])('urql reads a list again from which something was deleted, with pages %s', async (_, cache) => {
  const person = await signIn(stage)
  const [first, second, third] = [await person.create.user(), await person.create.user(), await person.create.user()]
  const client = createUrqlClient({ ...person.options, cache })
  const shown: unknown[] = []
  const list = `query List { users(first: 2, orderBy: { field: CREATED_AT, direction: ASC }) {
    nodes { id } pageInfo { endCursor hasNextPage }
  } }`
  const { unsubscribe } = client.query(list, {}).subscribe(({ data }) => void shown.push(data))
  onTestFinished(unsubscribe)
  const isShown = (ids: string[], hasNextPage: boolean) => {
    const users = { nodes: ids.map((id) => ({ id })), pageInfo: { hasNextPage } }
    return vi.waitFor(() => expect(shown.at(-1)).toMatchObject({ users }), 10_000)
  }
  await isShown([first.id, second.id], true)
  await client.mutation(documents.remove, { id: second.id })
  await isShown([first.id, third.id], false)
  expect(shown.filter((data) => (data as { users?: { pageInfo?: unknown } })?.users?.pageInfo == null)).toEqual([])
  expect(person.requestsOf('query List')).toHaveLength(2)
})

it('urql loses no row when the first page of a list that has grown is read again after an insertion', async () => {
  const { options, create } = await signIn(stage)
  const client = createUrqlClient(options)
  onTestFinished(() => client.close())
  const names = ['Bea', 'Cid', 'Dan', 'Eva', 'Fay']
  for (const name of names) await create.user({ name })
  let shown: { users: { edges: { node: { name: string } }[]; pageInfo: { hasNextPage: boolean } } } | undefined
  const list = client.query(documents.users, {}).subscribe(({ data }) => {
    shown = data
  })
  onTestFinished(list.unsubscribe)
  const rows = () => shown?.users.edges.map(({ node }) => node.name)
  const more = () => client.query(documents.users, { after: endCursorOf(shown) }).toPromise()
  await vi.waitFor(() => expect(rows()).toEqual(names.slice(0, 2)), 10_000)
  await more()
  expect(rows()).toEqual(names.slice(0, 4))
  names.unshift('Ada')
  await create.user({ name: 'Ada' })
  await client.query(documents.users, {}, { requestPolicy: 'network-only' }).toPromise()
  // What comes after the first page is unknown: it is asked for.
  expect(rows()).toEqual(names.slice(0, 2))
  expect(shown?.users.pageInfo.hasNextPage).toBe(true)
  while (shown?.users.pageInfo.hasNextPage) await more()
  expect(rows()).toEqual(names)
})

it('Apollo Client forgets that a field was withheld when it has a value', async () => {
  const { options, answerOnce } = await signIn(stage)
  const client = libraries['Apollo Client'](options)
  const user = (id: string, email: string | null) => ({ __typename: 'User', id, name: 'Name', email })
  const read = async (id: string, answer: object) => {
    answerOnce('query Contact', async () => Response.json(answer))
    return (await client.read(documents.contact, { id })).data
  }
  const forbidden = [{ message: 'No.', path: ['user', 'email'], extensions: { code: 'FORBIDDEN' } }]
  const first = await read('1', { data: { user: user('1', null) }, errors: forbidden })
  const isWithheld = (data: unknown) => withheld(client.apollo as ApolloClient, data, 'user.email')
  expect(isWithheld(first)).toBe('FORBIDDEN')
  await read('2', { data: { user: user('2', 'a@example.com') } })
  expect(isWithheld(await read('3', { data: { user: user('3', null) } }))).toBeUndefined()
})

it('Apollo Client visits only the objects with lists when something is deleted', async () => {
  const { options, create } = await signIn(stage)
  const cache = new InMemoryCache(apolloCache)
  const client = createApolloClient({ ...options, cache })
  onTestFinished(() => client.stop())
  const edges = Array.from({ length: 1_000 }, (_, at) => ({
    __typename: 'UserEdge',
    node: { __typename: 'User', id: `usr_${at}`, name: 'Name' },
  }))
  const query = gql('{ users { __typename edges { __typename node { __typename id name } } } }')
  cache.writeQuery({ query, data: { users: { __typename: 'UserConnection', edges } } })
  const modify = vi.spyOn(cache, 'modify')
  const { id } = await create.user()
  await client.mutate({ mutation: gql(documents.remove), variables: { id } })
  expect(modify.mock.calls.length).toBeLessThan(5)
  expect(cache.readQuery({ query })).toBeNull()
})

it('Apollo Client: a client of your own does the same with the link and the options of the package', async () => {
  const { options, run, requestsOf } = await signIn(stage)
  const cache = new InMemoryCache(apolloCache)
  const link = createApolloLink({ ...options, cache })
  const client = new ApolloClient({ link, cache, defaultOptions })
  onTestFinished(() => {
    client.stop()
    link.close()
  })
  let shown: unknown
  const page = client.watchQuery({ query: gql(documents.users) }).subscribe(({ data }) => {
    shown = data
  })
  onTestFinished(() => page.unsubscribe())
  await vi.waitFor(() => expect(shown).toMatchObject({ users: { totalCount: 0 } }), 10_000)
  await client.mutate({ mutation: gql(documents.create), variables: { name: 'Ada' } })
  await vi.waitFor(() => expect(shown).toMatchObject({ users: { totalCount: 1 } }), 10_000)
  const { error } = await client.query({ query: gql('{ unknown }') })
  expect(hasCode(error, 'BAD_USER_INPUT')).toBe(true)
  await run(documents.create, { name: 'Bea' })
  const before = requestsOf('query Users').length
  options.token.signOut()
  await vi.waitFor(() => expect(shown).toMatchObject({ users: { totalCount: 2 } }), 10_000)
  expect(requestsOf('query Users')).toHaveLength(before + 1)
})

it('Apollo Client: options of your own are added to those of the package', async () => {
  const { options } = await signIn(stage)
  const client = createApolloClient({
    ...options,
    defaultOptions: { watchQuery: { fetchPolicy: 'cache-and-network' }, query: { fetchPolicy: 'network-only' } },
    devtools: { enabled: true, name: 'creators' },
  })
  onTestFinished(() => client.stop())
  expect(client.defaultOptions).toEqual({
    watchQuery: { errorPolicy: 'all', fetchPolicy: 'cache-and-network' },
    query: { errorPolicy: 'all', fetchPolicy: 'network-only' },
    mutate: { errorPolicy: 'all' },
  })
  expect(client.devtoolsConfig).toEqual({ enabled: true, name: 'creators' })
})
