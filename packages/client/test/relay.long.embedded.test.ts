import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createRelayEnvironment } from '@fusion-gateway/client/relay'
import type { ConcreteRequest, GraphQLTaggedNode } from 'relay-runtime'
import { createOperationDescriptor, fetchQuery, requestSubscription } from 'relay-runtime'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { endCursorOf } from '../../../test/clients/frontends/page.ts'
import { projectRoot } from '../../../test/support/docs.ts'
import { hasExample } from '../../../test/support/skip.ts'
import type { ClientOptions } from '../src/core.ts'
import { allScopes, failed, manyAccounts, type Stage, signIn, startStage } from './libraries.ts'

const documents = {
  PageUsersQuery: `query PageUsersQuery($thenBy: [UserOrder!], $after: String) {
    users(first: 2, after: $after, orderBy: { field: NAME, direction: ASC }, thenBy: $thenBy) @connection(key: "Page_users") {
      totalCount
      edges { node { id name } }
      pageInfo { endCursor hasNextPage }
    }
  }`,
  PageAccountsQuery: `query PageAccountsQuery($id: ID!) {
    user(id: $id) { id accounts { id } accountsConnection(first: 10) @connection(key: "Page_accountsConnection") { totalCount edges { node { id } } } }
  }`,
  PageContactQuery: 'query PageContactQuery($id: ID!) { user(id: $id) { id name email @catch(to: RESULT) } }',
  PageTwinQuery: 'query PageTwinQuery($id: ID!) { user(id: $id) { id createdAt accounts { id createdAt } } }',
  PageNameQuery: 'query PageNameQuery($id: ID!) { node(id: $id) { id ... on User { name } } }',
  PageMeQuery: 'query PageMeQuery { viewer { user { id name } } }',
  PageEventsSubscription:
    'subscription PageEventsSubscription($after: ID) { events(after: $after) { id type resourceId } }',
  PageCreateMutation: `mutation PageCreateMutation($name: String!) {
    createUser(input: { name: $name, email: "a@example.com", phone: "1" }) { user { id } userErrors { code } }
  }`,
  PageUnlinkMutation:
    'mutation PageUnlinkMutation($id: ID!) { unlinkAccount(input: { id: $id }) { unlinkedAccountId } }',
}
type Name = keyof typeof documents

describe.skipIf(!hasExample('relay'))('an environment of Relay', () => {
  let folder: string
  let stage: Stage
  const artifacts = {} as Record<Name, ConcreteRequest>

  beforeAll(async () => {
    stage = await startStage()
    folder = mkdtempSync(path.join(tmpdir(), 'fusion-relay-package-'))
    mkdirSync(path.join(folder, 'src'))
    symlinkSync(path.join(projectRoot, 'examples/relay/node_modules'), path.join(folder, 'node_modules'))
    const schema = path.join(projectRoot, 'schema.graphql')
    writeFileSync(path.join(folder, 'schema.graphql'), execFileSync('cat', [schema]))
    const config = { src: './src', schema: './schema.graphql', language: 'javascript' }
    writeFileSync(path.join(folder, 'relay.config.json'), JSON.stringify(config))
    const texts = Object.values(documents).map((text) => `graphql\`${text}\``)
    writeFileSync(path.join(folder, 'src/Page.js'), texts.join('\n'))
    execFileSync('npx', ['relay-compiler'], { cwd: folder, stdio: 'pipe' })
    const load = createRequire(path.join(folder, 'src/Page.js'))
    for (const name of Object.keys(documents) as Name[])
      artifacts[name] = load(`./__generated__/${name}.graphql.js`).default
  })
  afterAll(async () => {
    await stage?.app.close()
    rmSync(folder, { recursive: true })
  })

  async function open(scopes?: readonly string[], more: Partial<ClientOptions> = {}) {
    const person = await signIn(stage, scopes)
    const environment = createRelayEnvironment({ ...person.options, ...more })
    const lookup = (operation: ReturnType<typeof createOperationDescriptor>) =>
      environment.lookup(operation.fragment).data
    return {
      ...person,
      environment,
      /** What a page shows that opens and reads once, as `useLazyLoadQuery` does. */
      async read(name: Name, variables = {}): Promise<unknown> {
        const operation = createOperationDescriptor(artifacts[name], variables)
        const { status } = environment.check(operation)
        if (status !== 'available')
          await fetchQuery(environment, artifacts[name] as GraphQLTaggedNode, variables).toPromise()
        return lookup(operation)
      },
      /** What a page shows that stays open. */
      async watch(name: Name, variables = {}): Promise<() => unknown> {
        const operation = createOperationDescriptor(artifacts[name], variables)
        const { dispose } = environment.retain(operation)
        onTestFinished(dispose)
        await environment.execute({ operation }).toPromise()
        return () => lookup(operation)
      },
      follow(name: Name, onNext: (data: unknown) => void): void {
        const subscription = artifacts[name] as GraphQLTaggedNode
        const { dispose } = requestSubscription(environment, { subscription, variables: {}, onNext })
        onTestFinished(dispose)
      },
      mutate: (name: Name, variables = {}) =>
        environment.executeMutation({ operation: createOperationDescriptor(artifacts[name], variables) }).toPromise(),
    }
  }

  const usersOf = (data: unknown) =>
    (data as { users: { edges: { node: { id: string } | null }[] } }).users.edges.map((edge) => edge?.node?.id)

  it('keeps lists of different orders apart, and joins their pages', async () => {
    const { read, create } = await open()
    const ids: string[] = []
    for (const day of [1, 2, 3])
      ids.push((await create.user({ name: 'Twin', createdAt: new Date(`2026-01-0${day}`) })).id)
    const thenBy = (direction: string) => [{ field: 'CREATED_AT', direction }]
    for (let visit = 1; visit <= 2; visit += 1) {
      expect(usersOf(await read('PageUsersQuery', { thenBy: thenBy('ASC') }))).toEqual(ids.slice(0, 2))
      expect(usersOf(await read('PageUsersQuery', { thenBy: thenBy('DESC') }))).toEqual(ids.toReversed().slice(0, 2))
    }
  })

  it('reads an object of a list from the store', async () => {
    const { read, create, requestsOf } = await open()
    const { id, name } = await create.user()
    await read('PageUsersQuery')
    expect(await read('PageNameQuery', { id })).toMatchObject({ node: { name } })
    expect(requestsOf('PageNameQuery')).toEqual([])
  })

  it('keeps objects of different types with the same id apart', async () => {
    const person = await open()
    const { user } = await manyAccounts(person)
    const shown = (await person.read('PageTwinQuery', { id: user.id })) as {
      user: { createdAt: string; accounts: { id: string; createdAt: string }[] }
    }
    expect(shown.user.createdAt).toBe(user.createdAt.toISOString())
    expect(shown.user.accounts[0]).toEqual({ id: user.id, createdAt: '2026-01-01T00:00:00.000Z' })
  })

  it('keeps the errors of fields, and asks again for what could not be read', async () => {
    const { read, create, requestsOf, answerOnce } = await open(allScopes.filter((scope) => scope !== 'contacts:read'))
    const { id, name } = await create.user()
    for (let visit = 1; visit <= 2; visit += 1) {
      expect(await read('PageContactQuery', { id })).toMatchObject({ user: { name, email: { ok: false } } })
    }
    expect(requestsOf('PageContactQuery')).toHaveLength(1)

    answerOnce('PageUsersQuery', failed({ users: null }, 'users'))
    expect(await read('PageUsersQuery')).toEqual({ users: null })
    expect(usersOf(await read('PageUsersQuery'))).toEqual([id])
  })

  it('removes what a mutation or an event deletes from its lists, and counts again', async () => {
    const person = await open()
    const { watch, mutate, follow, run, create, answerOnce, requestsOf } = person
    const { user, ids } = await manyAccounts(person)
    const shown = await watch('PageAccountsQuery', { id: user.id })
    const shows = (...left: string[]) =>
      vi.waitFor(() => {
        const list = left.map((id) => ({ id }))
        const edges = list.map((node) => ({ node }))
        expect(shown()).toMatchObject({
          user: { accounts: list, accountsConnection: { totalCount: left.length, edges } },
        })
      }, 10_000)
    await shows(...ids)
    await mutate('PageUnlinkMutation', { id: ids[0] })
    await shows(...ids.slice(1))
    const events: unknown[] = []
    follow('PageEventsSubscription', (data) => events.push(data))
    await vi.waitFor(async () => {
      await create.user()
      expect(events).not.toEqual([])
    }, 20_000)
    // The next account is unlinked while the list without this one is on its way.
    const unlink = (id = '') =>
      run('mutation ($id: ID!) { unlinkAccount(input: { id: $id }) { unlinkedAccountId } }', { id })
    const isRead = Promise.withResolvers<void>()
    const line = Promise.withResolvers<void>()
    answerOnce('PageAccountsQuery', async (forward) => {
      const response = await forward()
      const text = await response.text()
      isRead.resolve()
      await line.promise
      return new Response(text, response)
    })
    await unlink(ids[1])
    await isRead.promise
    // The page does not wait for it.
    const last = { id: ids[2] }
    expect(shown()).toMatchObject({ user: { accounts: [last], accountsConnection: { edges: [{ node: last }] } } })
    events.length = 0
    const before = requestsOf('PageAccountsQuery').length
    await unlink(ids[2])
    await vi.waitFor(() => expect(JSON.stringify(events)).toContain('ACCOUNT_UNLINKED'), 20_000)
    expect(requestsOf('PageAccountsQuery')).toHaveLength(before)
    line.resolve()
    await vi.waitFor(() => expect(requestsOf('PageAccountsQuery')).toHaveLength(before + 1), 20_000)
    await shows()
  })

  it('shows what a mutation or an event creates, where it belongs in a list that has grown', async () => {
    const { watch, mutate, follow, run, create, environment, requestsOf } = await open()
    const names = ['Bea', 'Dan', 'Fay', 'Hal', 'Joe', 'Liz']
    for (const name of names) await create.user({ name })
    const list = await watch('PageUsersQuery')
    const me = await watch('PageMeQuery')
    expect(me()).toEqual({ viewer: { user: null } })
    const after = endCursorOf(list())
    await environment.execute({ operation: createOperationDescriptor(artifacts.PageUsersQuery, { after }) }).toPromise()
    /** The page shows the first users, also those that are new. */
    const shows = () =>
      vi.waitFor(() => {
        const { users } = list() as { users: { totalCount: number; edges: unknown[] } }
        expect(users.edges.length).toBeGreaterThanOrEqual(4)
        expect(users).toMatchObject({
          totalCount: names.length,
          edges: names
            .toSorted()
            .map((name) => ({ node: { name } }))
            .slice(0, users.edges.length),
          pageInfo: { hasNextPage: users.edges.length < names.length },
        })
      }, 10_000)
    await shows()
    names.push('Gab')
    await mutate('PageCreateMutation', { name: 'Gab' })
    await shows()
    const events: unknown[] = []
    follow('PageEventsSubscription', (data) => events.push(data))
    await vi.waitFor(async () => {
      await run('mutation { createJob(input: { jobType: "wait" }) { job { id } } }')
      expect(events).not.toEqual([])
    }, 20_000)
    names.push('Aaa', 'Gus')
    const inputs = ['Aaa', 'Gus'].map((name) => ({ name, email: 'a@example.com', phone: '1' }))
    const many = 'mutation ($inputs: [CreateUserInput!]!) { createUsers(inputs: $inputs) { results { user { id } } } }'
    await run(many, { inputs })
    await shows()
    // It has no list of users.
    expect(requestsOf('PageMeQuery')).toHaveLength(1)
  })

  it('aborts the request of a page that is closed, and says what answered in place of the gateway', async () => {
    const { environment, answerOnce } = await open(undefined, { attempts: 1 })
    const operation = createOperationDescriptor(artifacts.PageUsersQuery, {})
    const begun = Promise.withResolvers<AbortSignal | null | undefined>()
    const { fetch } = globalThis
    globalThis.fetch = (input, init) => {
      if (String(init?.body).includes('PageUsersQuery')) begun.resolve(init?.signal)
      return fetch(input, init)
    }
    answerOnce('PageUsersQuery', () => new Promise(() => {}))
    const { unsubscribe } = environment.execute({ operation }).subscribe({})
    const signal = await begun.promise
    unsubscribe()
    expect(signal?.aborted).toBe(true)
    answerOnce('PageUsersQuery', async () => new Response('<html>', { status: 502 }))
    await expect(environment.execute({ operation }).toPromise()).rejects.toThrow('502')
  })

  it('refuses a document that the compiler has not persisted, if it sends no texts', async () => {
    const { read } = await open(undefined, { documents: 'persisted' })
    await expect(read('PageUsersQuery')).rejects.toThrow('PageUsersQuery')
  })

  it.each(['signOut()', 'a token of another person'])('shows nothing of the first person after %s', async (change) => {
    const page = await open(['users:read', 'users:write', 'events:read'])
    const [first, second] = [await page.create.user({ name: 'First' }), await page.create.user({ name: 'Second' })]
    page.become(first.id)
    const shown = await page.watch('PageMeQuery')
    expect(shown()).toMatchObject({ viewer: { user: { name: 'First' } } })
    expect(await page.read('PageNameQuery', { id: first.id })).toMatchObject({ node: { name: 'First' } })
    const received: unknown[] = []
    page.follow('PageEventsSubscription', (data) =>
      received.push((data as { events: { resourceId: string } }).events.resourceId),
    )
    page.become(second.id)
    if (change === 'signOut()') page.options.token.signOut()
    else await page.options.token(await page.options.token())
    expect(await page.read('PageNameQuery', { id: second.id })).toMatchObject({ node: { name: 'Second' } })
    expect(await page.read('PageNameQuery', { id: first.id })).toEqual({ node: null })
    await vi.waitFor(() => expect(shown()).toMatchObject({ viewer: { user: { name: 'Second' } } }), 10_000)
    let count = 0
    await vi.waitFor(
      async () => {
        count += 1
        const rename = `mutation ($id: ID!) { updateUser(input: { id: $id, name: "Name ${count}" }) { user { id } } }`
        for (const { id } of [first, second]) await page.run(rename, { id })
        expect(received).toContain(second.id)
      },
      { timeout: 10_000, interval: 300 },
    )
    expect(received).not.toContain(first.id)
  })
})
