import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { documents, libraries, type Stage, signIn, startStage } from './libraries.ts'

let stage: Stage
beforeAll(async () => {
  stage = await startStage()
})
afterAll(() => stage.app.close())

const createMany = `mutation Many($inputs: [CreateUserInput!]!) {
  made: createUsers(inputs: $inputs) { results { user { id } } }
}`
const link = `mutation Link($userId: ID!) {
  linkAccount(input: { userId: $userId, platform: "YOUTUBE", platformAccountId: "1", displayName: "A" }) { account { id } }
}`
const sync = `mutation Sync($accountId: ID!) {
  syncProfile(input: { accountId: $accountId, username: "a" }) { profile { id } }
}`
const inputsOf = (...names: string[]) => names.map((name) => ({ name, email: 'a@example.com', phone: '1' }))

describe.each(Object.entries(libraries))('%s', (_, connect) => {
  async function open() {
    const warnings = [vi.spyOn(console, 'warn').mockReturnValue(), vi.spyOn(console, 'error').mockReturnValue()]
    onTestFinished(() => {
      for (const warning of warnings) warning.mockRestore()
    })
    const person = await signIn(stage)
    const client = connect(person.options)
    const until = (page: ReturnType<typeof client.watch>, data: object) =>
      vi.waitFor(() => expect(page.shown()?.data).toMatchObject(data), 10_000)
    /** Follows events, and resolves when they arrive. */
    async function follow() {
      const types: string[] = []
      client.follow(documents.events, {}, ({ data }) => types.push((data as { events: { type: string } }).events.type))
      await vi.waitFor(async () => {
        await person.run('mutation { createJob(input: { jobType: "wait" }) { job { id } } }')
        expect(types).not.toEqual([])
      }, 20_000)
      return types
    }
    return { ...person, client, until, follow, warnings: () => warnings.flatMap(({ mock }) => mock.calls) }
  }

  it('shows a user whom a mutation creates, in lists and numbers, also if they were empty', async () => {
    const { client, until, requestsOf, warnings } = await open()
    const [list, counted] = [client.watch(documents.users, {}), client.watch('query Count { userStats { count } }', {})]
    const job = client.watch('query Jobs { jobs { nodes { id } } }', {})
    await until(list, { users: { totalCount: 0, edges: [] } })
    await until(counted, { userStats: { count: 0 } })
    await until(job, { jobs: { nodes: [] } })
    await client.mutate(documents.create, { name: 'Ada' })
    await until(list, { users: { totalCount: 1, edges: [{ node: { name: 'Ada' } }] } })
    await until(counted, { userStats: { count: 1 } })
    const rejected = await client.mutate(documents.create, { name: '' })
    expect(rejected.data).toMatchObject({ createUser: { user: null } })
    // Several, under an alias.
    await client.mutate(createMany, { inputs: inputsOf('Bea', 'Cid') })
    await until(list, { users: { totalCount: 3, edges: [{}, {}] } })
    expect(requestsOf('query Users')).toHaveLength(3)
    expect(requestsOf('query Jobs')).toHaveLength(1)
    expect(warnings()).toEqual([])
  })

  it('shows what others create, by its event, and an account and a profile where they belong', async () => {
    const { client, until, follow, run, create } = await open()
    const { id: userId } = await create.user({ name: 'Ada' })
    const [list, user] = [
      client.watch(documents.users, {}),
      client.watch('query One($id: ID!) { user(id: $id) { id accounts { id profile { id } } } }', { id: userId }),
    ]
    await until(list, { users: { totalCount: 1 } })
    await until(user, { user: { accounts: [] } })
    await follow()
    await run(documents.create, { name: 'Bea' })
    await until(list, { users: { totalCount: 2, edges: [{}, { node: { name: 'Bea' } }] } })
    const { data } = await run<{ linkAccount: { account: { id: string } } }>(link, { userId })
    const { id: accountId } = data.linkAccount.account
    await until(user, { user: { accounts: [{ id: accountId, profile: null }] } })
    await run(sync, { accountId })
    await until(user, { user: { accounts: [{ id: accountId, profile: {} }] } })
  })

  it('shows what the page itself links and syncs', async () => {
    const { client, until, create } = await open()
    const { id: userId } = await create.user({ name: 'Ada' })
    const user = client.watch('query One($id: ID!) { user(id: $id) { id accounts { id profile { id } } } }', {
      id: userId,
    })
    await until(user, { user: { accounts: [] } })
    const { data } = (await client.mutate(link, { userId })) as { data: { linkAccount: { account: { id: string } } } }
    await until(user, { user: { accounts: [{ profile: null }] } })
    const accountId = data.linkAccount.account.id
    await client.mutate(sync, { accountId })
    await until(user, { user: { accounts: [{ id: accountId, profile: {} }] } })
  })

  it('shows a created user also if the list was being read', async () => {
    const { client, until, answerOnce } = await open()
    const [isRead, line] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    answerOnce('query Users', async (forward) => {
      const response = await forward()
      const text = await response.text()
      isRead.resolve()
      await line.promise
      return new Response(text, response)
    })
    const list = client.watch(documents.users, {})
    await isRead.promise
    await client.mutate(documents.create, { name: 'Ada' })
    line.resolve()
    await until(list, { users: { totalCount: 1, edges: [{ node: { name: 'Ada' } }] } })
  })

  it('reads a list once a second at most, however many users others create', async () => {
    const { client, until, follow, create, run, requestsOf } = await open()
    await create.user({ name: 'Ada' })
    const list = client.watch(documents.users, {})
    await until(list, { users: { totalCount: 1 } })
    const types = await follow()
    const [before, begun] = [requestsOf('query Users').length, performance.now()]
    for (let number = 1; number <= 20; number += 1) await run(documents.create, { name: `Bea ${number}` })
    await vi.waitFor(() => expect(types.filter((type) => type === 'USER_CREATED').length).toBe(20), 10_000)
    await until(list, { users: { totalCount: 21 } })
    const seconds = (performance.now() - begun) / 1_000
    expect(requestsOf('query Users').length - before).toBeLessThanOrEqual(Math.ceil(seconds) + 1)
  })
})
