import type { ClientOptions } from '@fusion-gateway/client'
import { createTokenHandler } from '@fusion-gateway/client/server'
import { createTokens } from '@fusion-gateway/client/tokens'
import type { Browser, Locator } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { findChromium, launchChromium } from '../../support/chromium.ts'
import { settleEvents } from '../../support/events.ts'
import type { DocumentName } from './documents.ts'
import { type Driver, type Stage, startDriver, type Tab } from './driver.ts'
import type { Library, Shown } from './page.ts'
import type { Answer } from './site.ts'

/** The gateway executes the request, and its response is lost. */
const lose = async (forward: () => Promise<Answer>) => {
  await forward()
  return 'lost' as const
}

/** The request reaches the gateway late. */
const hold = (until: () => Promise<unknown>) => async (forward: () => Promise<Answer>) => {
  await until()
  return forward()
}

/** A refusal, as the gateway sends it. */
const refuse = (status: number, code: string) => async (): Promise<Answer> => ({
  status,
  headers: { 'content-type': 'application/json', 'retry-after': '1' },
  body: JSON.stringify({ errors: [{ message: 'Later.', extensions: { code } }] }),
})

/** A connection of ids, in their order. */
const listOf = (...ids: string[]) => ({ edges: ids.map((id) => ({ node: { id } })) })

/** What `UsersQuery` shows. */
interface UserList {
  readonly edges: readonly { readonly node: { readonly id: string } }[]
}

interface FrontendOptions {
  /** Whether it stores objects, and joins the pages of lists. */
  readonly hasCache: boolean
  /** Whether its page is compiled for browsers alone. */
  readonly isCompiled?: boolean
}

/**
 * Runs the scenarios in which frontends have shown wrong values, on the page of a client.
 *
 * @param client the name of its page
 */
export function describeFrontend(client: string, { hasCache, isCompiled = false }: FrontendOptions): void {
  const chromium = findChromium(`A page with ${client}`)
  describe.skipIf(!chromium)(`a page with ${client}`, () => {
    let browser: Browser
    let driver: Driver

    beforeAll(async () => {
      browser = await launchChromium(chromium ?? '')
      driver = await startDriver(client, browser)
    })
    afterEach(() => driver.reset())
    afterAll(async () => {
      await browser?.close()
      await driver?.close()
    })

    async function open(scopes?: readonly string[]): Promise<Stage & { readonly tab: Tab }> {
      const stage = await driver.openStage(scopes)
      return { ...stage, tab: await stage.openTab() }
    }

    /** Counts the requests with an operation from now on. */
    function countRequests(operation: DocumentName) {
      const before = driver.site.requestsOf(operation).length
      const requests = () => driver.site.requestsOf(operation).slice(before)
      return { requests, until: (count: number) => expect.poll(() => requests().length).toBeGreaterThanOrEqual(count) }
    }

    const usersNamed = async ({ tenant }: Stage, search: string) => {
      const query = 'query ($search: String) { users(filter: { search: $search }) { nodes { id } } }'
      const { data } = await driver.app.graphql<{ users: { nodes: unknown[] } }>(tenant, query, { search })
      return data.users.nodes
    }

    describe('shows', () => {
      it('a list in another order, also if only `thenBy` differs', async () => {
        const { tab, create } = await open()
        const { id: first } = await create.user({ name: 'Twin', createdAt: new Date('2026-01-01') })
        const { id: second } = await create.user({ name: 'Twin', createdAt: new Date('2026-01-02') })
        const thenBy = (direction: string) => ({ thenBy: [{ field: 'CREATED_AT', direction }] })
        await tab.show('oldest', 'UsersQuery', thenBy('ASC'))
        await tab.untilShown('oldest', { users: listOf(first, second) })
        await tab.show('newest', 'UsersQuery', thenBy('DESC'))
        await tab.untilShown('newest', { users: listOf(second, first) })
        await tab.show('oldest again', 'UsersQuery', thenBy('ASC'))
        await tab.untilShown('oldest again', { users: listOf(first, second) })
      })

      it('the fields of fragments on an interface', async () => {
        const { tab, create } = await open()
        const { id, name } = await create.user()
        for (const visit of ['first', 'second']) {
          await tab.show(visit, 'NodeQuery', { id })
          await tab.untilShown(visit, { node: { id, name } })
        }
      })

      it('which values are withheld, and which are unknown, also on the second visit', async () => {
        const { tab, create } = await open(['users:read', 'profiles:read'])
        const { id, name } = await create.user()
        await create.account(id)
        for (const visit of ['first', 'second']) {
          await tab.show(visit, 'ContactQuery', { id })
          await tab.untilShown(visit, { user: { id, name, email: null, accounts: [{ profile: null }] } })
          expect(await tab.withheld(visit, 'user.email')).toBe('FORBIDDEN')
          expect(await tab.withheld(visit, 'user.accounts.profile')).toBeUndefined()
          await tab.hide(visit)
        }
      })

      it('the results of the last search, when those before it are late', async () => {
        const { tab, create } = await open()
        for (const name of ['Adam', 'Adamina']) await create.user({ name })
        const last = { users: { edges: [{ node: { name: 'Adamina' } }] } }
        const line = Promise.withResolvers<void>()
        // A browser has six connections to a host: the seventh search needs one of those that the page has given up.
        const held = driver.site.fail(
          'UsersQuery',
          hold(() => line.promise),
          6,
        )
        const { until } = countRequests('UsersQuery')
        await tab.show('search', 'UsersQuery', { search: 'A' })
        for (let typed = 1; typed < 7; typed += 1) {
          await until(typed)
          await tab.change('search', { search: 'Adamina'.slice(0, typed + 1) })
        }
        await tab.untilShown('search', last)
        line.resolve()
        await held
        // Its response comes after those that were held.
        await tab.show('later', 'UsersQuery', { search: 'Ada' })
        await tab.untilShown('later', { users: { edges: [{}, {}] } })
        await tab.untilShown('search', last)
      })
    })

    it.skipIf(isCompiled)('renders pages on a server for two users at once, and mixes nothing', async () => {
      const { connect }: { connect(options: ClientOptions): Library } = await import(`./pages/${client}.ts`)
      const { tenant, create } = await driver.openStage()
      const url = `${driver.site.origin}/graphql`
      const users = [await create.user(), await create.user()]
      const render = ({ id: userId }: { readonly id: string }) => {
        const handle = createTokenHandler({ url, apiKey: tenant.key, inputFor: async () => ({ userId }) })
        const library = connect({ url, token: createTokens({ fetchToken: () => handle(new Request(url)) }) })
        return new Promise((resolve) => {
          library.watch('ViewerQuery', {}, ({ data }) => data && resolve(data))
        })
      }
      for (let visit = 1; visit <= 2; visit += 1) {
        const { until } = countRequests('ViewerQuery')
        // The gateway answers when the requests of both have arrived.
        const both = driver.site.fail(
          'ViewerQuery',
          hold(() => until(2)),
          2,
        )
        const pages = await Promise.all(users.map(render))
        await both
        expect(pages).toMatchObject(users.map(({ id }) => ({ viewer: { user: { id } }, users: listOf(id) })))
      }
    })

    describe.skipIf(!hasCache)('keeps in its cache', () => {
      it('the pages of lists: of a root field, of an object, and of jobs', async () => {
        const { tab, create } = await open()
        const createdAt = (day: number) => ({ createdAt: new Date(`2026-01-0${day}`) })
        const ids: Record<'users' | 'accounts' | 'jobs', string[]> = { users: [], accounts: [], jobs: [] }
        for (const day of [1, 2, 3]) ids.users.push((await create.user({ name: `User ${day}` })).id)
        const [id = ''] = ids.users
        for (const day of [1, 2, 3]) {
          ids.accounts.push((await create.account(id, createdAt(day))).id)
          ids.jobs.push((await create.job(createdAt(day))).id)
        }
        const lists = {
          users: { document: 'UsersQuery', data: (list: object) => ({ users: list }) },
          accounts: { document: 'AccountsQuery', data: (list: object) => ({ user: { accountsConnection: list } }) },
          jobs: { document: 'JobsQuery', data: (list: object) => ({ jobs: list }) },
        } as const
        for (const name of ['users', 'accounts', 'jobs'] as const) {
          const { document, data } = lists[name]
          await tab.show(name, document, name === 'accounts' ? { id } : {})
          await tab.untilShown(name, data(listOf(...ids[name].slice(0, 2))))
          await tab.more(name)
          await tab.untilShown(name, data(listOf(...ids[name])))
        }
      })

      it('the pages of a list from which something was deleted, by the page or by somebody else, and its end', async () => {
        const { tab, create, tenant } = await open()
        const ids: string[] = []
        for (const number of [1, 2, 3, 4, 5, 6]) ids.push((await create.user({ name: `User ${number}` })).id)
        const [, second, , fourth, fifth, sixth] = ids
        const gone = new Set<string | undefined>()
        /** The page shows the users that are left, from the first on, and knows how many there are. */
        const isRight = async (atLeast: number) => {
          const { users } = ((await tab.shown('users')).at(-1)?.data ?? {}) as { users?: UserList }
          const shown = users?.edges.map(({ node }) => node.id) ?? []
          const left = ids.filter((id) => !gone.has(id))
          expect(shown.length).toBeGreaterThanOrEqual(atLeast)
          expect(users).toMatchObject({
            ...listOf(...left.slice(0, shown.length)),
            totalCount: left.length,
            pageInfo: { hasNextPage: shown.length < left.length },
          })
        }
        const shows = (atLeast: number) => vi.waitFor(() => isRight(atLeast), { timeout: 30_000, interval: 20 })
        await tab.show('users', 'UsersQuery')
        await shows(2)
        await tab.more('users')
        await shows(4)
        await tab.follow('events', 'EventsSubscription')
        gone.add(second)
        await tab.click('delete', 'DeleteMutation', { id: second })
        await shows(3)
        // The end of the list is where this user was.
        gone.add(fourth)
        const remove = 'mutation ($id: ID!) { deleteUser(input: { id: $id }) { deletedUserId } }'
        await driver.app.graphql(tenant, remove, { id: fourth })
        await shows(2)
        await tab.more('users')
        await shows(4)
        for (const id of [fifth, sixth]) {
          gone.add(id)
          await tab.click('delete', 'DeleteMutation', { id })
        }
        await shows(2)
      })

      it('users whom the page or somebody else creates, in the list that it shows', async () => {
        const { tab, tenant } = await open()
        await tab.show('users', 'UsersQuery')
        await tab.untilShown('users', { users: listOf() })
        await tab.click('form', 'CreateUserMutation', { input: { name: 'Bea', email: 'a@example.com', phone: '1' } })
        const rows = (...names: string[]) => ({ edges: names.map((name) => ({ node: { name } })) })
        await tab.untilShown('users', { users: { ...rows('Bea'), totalCount: 1 } })
        await tab.follow('events', 'EventsSubscription')
        const create =
          'mutation { createUser(input: { name: "Ada", email: "a@example.com", phone: "1" }) { user { id } } }'
        await driver.app.graphql(tenant, create)
        await tab.untilShown('users', { users: { ...rows('Ada', 'Bea'), totalCount: 2 } })
      })

      it('the next page, also if the list was read again before it arrived', async () => {
        const { tab, create, tenant } = await open()
        const ids: string[] = []
        for (const number of [1, 2, 3, 4]) ids.push((await create.user({ name: `User ${number}` })).id)
        const [first, second, third, fourth] = ids as [string, string, string, string]
        await tab.show('users', 'UsersQuery')
        await tab.untilShown('users', { users: listOf(first, second) })
        await tab.follow('events', 'EventsSubscription')
        const [asked, readAgain] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
        const hasReadAgain = driver.site.fail(
          'UsersQuery',
          hold(() => asked.promise),
        )
        const hasMore = driver.site.fail(
          'UsersQuery',
          hold(() => readAgain.promise),
        )
        const { until } = countRequests('UsersQuery')
        // The end of the list is where this user was.
        const remove = 'mutation ($id: ID!) { deleteUser(input: { id: $id }) { deletedUserId } }'
        await driver.app.graphql(tenant, remove, { id: second })
        await until(1)
        const more = tab.more('users')
        await until(2)
        asked.resolve()
        await hasReadAgain
        readAgain.resolve()
        await hasMore
        await more
        await tab.untilShown('users', { users: { ...listOf(first, third, fourth), pageInfo: { hasNextPage: false } } })
      })

      it('the statistics that two widgets read, without reading them again and again', async () => {
        const { tab, create } = await open()
        const user = await create.user()
        await create.profile(await create.account(user.id), { followersCount: 7, verified: true })
        const [counts, followers] = [countRequests('CountQuery'), countRequests('FollowersQuery')]
        await tab.show('count', 'CountQuery')
        await tab.untilShown('count', { profileStats: { count: 1, verified: { verified: 1 } } })
        await tab.show('followers', 'FollowersQuery')
        await tab.untilShown('followers', { profileStats: { followers: { sum: 7 }, verified: { unverified: 0 } } })
        // A query that is sent later than those that a conflict would cause.
        await tab.show('later', 'UsersQuery')
        await tab.untilShown('later', { users: listOf(user.id) })
        await tab.untilShown('count', { profileStats: { count: 1, verified: { verified: 1 } } })
        expect([counts.requests(), followers.requests()]).toEqual([[expect.anything()], [expect.anything()]])
      })

      it('no account that was unlinked, by the page or by somebody else', async () => {
        const { tab, create, tenant } = await open()
        const { id } = await create.user()
        const { id: first } = await create.account(id, { createdAt: new Date('2026-01-01') })
        const { id: second } = await create.account(id, { createdAt: new Date('2026-01-02') })
        const shows = (...ids: string[]) =>
          tab.untilShown('user', {
            user: { accounts: ids.map((account) => ({ id: account })) },
            accounts: listOf(...ids),
          })
        await tab.show('user', 'UserAccountsQuery', { id })
        await shows(first, second)
        await tab.follow('events', 'EventsSubscription')
        await tab.click('unlink', 'UnlinkMutation', { id: first })
        await shows(second)
        const unlink = 'mutation ($id: ID!) { unlinkAccount(input: { id: $id }) { unlinkedAccountId } }'
        await driver.app.graphql(tenant, unlink, { id: second })
        await shows()
      })
    })

    describe('waits', () => {
      it.each([
        [503, 'SERVICE_UNAVAILABLE', 'unavailable'],
        [429, 'RATE_LIMITED', 'limited'],
      ])('as long as %i says, and shows no empty list meanwhile', async (status, code, reason) => {
        const { tab, create } = await open()
        const { id } = await create.user()
        const { requests } = countRequests('UsersQuery')
        void driver.site.fail('UsersQuery', refuse(status, code))
        await tab.show('users', 'UsersQuery')
        await tab.untilShown('users', { users: listOf(id) })
        const shown = (await tab.shown('users')).filter(({ data, errors }) => data || errors.length > 0)
        for (const each of shown) expect(each).toMatchObject({ data: { users: listOf(id) }, errors: [] })
        expect(await tab.waits()).toEqual([reason])
        const [refused, answered] = requests()
        expect(Number(answered?.time) - Number(refused?.time)).toBeGreaterThan(990)
      })

      it('or shows the error of a field that failed, and keeps no empty list', async () => {
        const { tab, create } = await open()
        const { id } = await create.user()
        const failed = driver.site.fail('UsersQuery', async (forward) => {
          const error = { message: 'Later.', path: ['users'], extensions: { code: 'SERVICE_UNAVAILABLE' } }
          return { ...(await forward()), body: JSON.stringify({ data: { users: null }, errors: [error] }) }
        })
        await tab.show('users', 'UsersQuery')
        await failed
        // Some clients read it again by themselves.
        await expect
          .poll(async () => (await tab.shown('users')).some(({ data, errors }) => data ?? errors[0]))
          .toBe(true)
        for (const { data, errors } of await tab.shown('users')) {
          if (errors.length > 0) expect(errors).toEqual(['SERVICE_UNAVAILABLE'])
          else if (data) expect(data).toMatchObject({ users: listOf(id) })
        }
        await tab.hide('users')
        await tab.show('again', 'UsersQuery')
        await tab.untilShown('again', { users: listOf(id) })
      })

      it('for the gateway: queries that got no response load when it is back', async () => {
        const stage = await open()
        const { id } = await stage.create.user()
        await driver.stopGateway()
        await stage.tab.show('users', 'UsersQuery')
        await expect.poll(stage.tab.waits).not.toEqual([])
        await driver.startGateway()
        await stage.tab.untilShown('users', { users: listOf(id) })
      })

      it('for the network: queries load when the device is online again', async () => {
        const { tab, create, context } = await open()
        const { id } = await create.user()
        await context.setOffline(true)
        await tab.show('users', 'UsersQuery')
        await expect.poll(tab.waits).toContain('offline')
        await context.setOffline(false)
        await tab.untilShown('users', { users: listOf(id) })
      })
    })

    describe('writes once', () => {
      const input = (name: string) => ({ input: { name, email: 'once@example.com', phone: '1' } })

      it('when the response is lost, and the person clicks again meanwhile', async () => {
        const stage = await open()
        const lost = driver.site.fail('CreateUserMutation', lose)
        const click = () => stage.tab.click('form', 'CreateUserMutation', input('Once'))
        const first = click()
        await lost
        const created = { data: { createUser: { user: { name: 'Once' } } }, errors: [] }
        expect(await Promise.all([first, click()])).toMatchObject([created, created])
        expect(await usersNamed(stage, 'Once')).toHaveLength(1)
        // The next user is another one.
        await click()
        expect(await usersNamed(stage, 'Once')).toHaveLength(2)
      })

      it('when no response arrives at all, and the person clicks again', async () => {
        const stage = await open()
        void driver.site.fail('CreateUserMutation', lose, Number.POSITIVE_INFINITY)
        const click = () => stage.tab.click('form', 'CreateUserMutation', input('Once'))
        let first: Shown | undefined
        void click().then((shown) => {
          first = shown
        })
        const answered = async () => {
          await stage.tab.wake()
          return first
        }
        await expect.poll(answered).toEqual({ errors: [expect.any(String)] })
        driver.site.endFaults()
        expect(await click()).toMatchObject({ data: { createUser: { user: { name: 'Once' } } } })
        expect(await usersNamed(stage, 'Once')).toHaveLength(1)
      })
    })

    it('has a form that stays open and says so when its gateway is killed, and closes when it has saved', async () => {
      const stage = await open()
      const { tab } = stage
      await tab.show('users', 'UsersQuery')
      await tab.untilShown('users', { users: listOf() })
      const input = { name: 'Once', email: 'once@example.com', phone: '1' }
      await tab.openForm('create', 'CreateUserMutation', { input })
      // It has saved, and nobody knows.
      const killed = driver.site.fail('CreateUserMutation', async (forward) => {
        await forward()
        await driver.stopGateway()
        return 'lost'
      })
      const [form, button, output] = ['#create', '#create button', '#create output'].map((each) =>
        tab.page.locator(each),
      ) as [Locator, Locator, Locator]
      await button.click()
      await killed
      const message = async () => {
        await tab.wake()
        return output.textContent()
      }
      await expect
        .poll(message, { timeout: 30_000 })
        .toBe('Not saved, or not known: try again. Nothing is saved twice.')
      await driver.startGateway()
      await button.click()
      await expect.poll(() => form.count(), { timeout: 30_000 }).toBe(0)
      expect(await usersNamed(stage, 'Once')).toHaveLength(1)
    })

    describe('follows', () => {
      const resourcesOf = async (tab: Tab) =>
        (await tab.shown('events')).map(({ data }) => (data as { events: { resourceId: string } }).events.resourceId)

      async function restartMeanwhile(work: () => Promise<{ readonly id: string }>): Promise<string> {
        await driver.stopGateway()
        const { id } = await work()
        await settleEvents(driver.app)
        await driver.startGateway()
        return id
      }

      it('every event of a restart, also if it has seen none before', async () => {
        const { tab, create } = await open()
        await create.user()
        await settleEvents(driver.app)
        await tab.show('users', 'UsersQuery')
        await tab.untilShown('users', { users: { edges: [{}] } })
        await tab.follow('events', 'EventsSubscription')
        const second = await restartMeanwhile(() => create.user())
        await expect.poll(() => resourcesOf(tab)).toEqual([second])
        const third = await restartMeanwhile(() => create.user())
        await expect.poll(() => resourcesOf(tab)).toEqual([second, third])
      })

      it('an object through the end of its token, which may not read events', async () => {
        const { tab, create, session, tokenRequests } = await open(['users:read', 'users:write'])
        const { id } = await create.user({ name: 'Before' })
        await tab.follow('user', 'UserSubscription', { id })
        await tab.untilShown('user', { user: { name: 'Before' } })
        const before = tokenRequests()
        await session.replaceKey()
        await expect.poll(tokenRequests).toBeGreaterThan(before)
        await tab.click('rename', 'RenameMutation', { id, name: 'After' })
        await tab.untilShown('user', { user: { name: 'After' } })
      })

      it('in two tabs what one of them changes, which the other does not overwrite unread', async () => {
        const { tab, create, openTab } = await open()
        const { id, updatedAt } = await create.user({ name: 'Before' })
        const other = await openTab()
        for (const each of [tab, other]) {
          await each.follow('user', 'UserSubscription', { id })
          await each.untilShown('user', { user: { name: 'Before' } })
        }
        const save = (from: Tab, name: string) =>
          from.click('form', 'SaveMutation', { id, name, expectedUpdatedAt: updatedAt.toISOString() })
        await save(other, 'After')
        await tab.untilShown('user', { user: { name: 'After' } })
        const shown = { updateUser: { user: { name: 'After' }, userErrors: [{ code: 'CONFLICT' }] } }
        expect(await save(tab, 'Overwritten')).toMatchObject({ data: shown })
        await tab.untilShown('user', { user: { name: 'After' } })
      })

      it.each(['socket', 'stream'] as const)(
        'in seven tabs by a %s, and the last one still sends queries',
        async (transport) => {
          const { create, openTab } = await driver.openStage()
          const { id } = await create.user({ name: 'Before' })
          const tabs: Tab[] = []
          while (tabs.length < 7) {
            await tabs.at(-1)?.setHidden(true)
            const tab = await openTab(transport)
            await tab.follow('user', 'UserSubscription', { id })
            await tab.untilShown('user', { user: { name: 'Before' } })
            tabs.push(tab)
          }
          const [first, last] = [tabs[0] as Tab, tabs[6] as Tab]
          await last.click('rename', 'RenameMutation', { id, name: 'After' })
          await last.untilShown('user', { user: { name: 'After' } })
          await first.setHidden(false)
          await first.untilShown('user', { user: { name: 'After' } })
        },
      )
    })

    describe('has a live query', () => {
      const rows = (...names: string[]) => ({
        users: { totalCount: names.length, edges: names.map((name) => ({ node: { name } })) },
      })
      const remove = 'mutation ($id: ID!) { deleteUser(input: { id: $id }) { deletedUserId } }'
      const rename = 'mutation ($id: ID!) { updateUser(input: { id: $id, name: "Cleo" }) { user { id } } }'

      it.each(['socket', 'stream'] as const)(
        'by a %s, which shows what others create, rename and delete, also while it was hidden',
        async (transport) => {
          const { create, openTab, tenant } = await driver.openStage()
          const { id } = await create.user({ name: 'Ada' })
          const tab = await openTab(transport)
          await tab.show('users', 'LiveUsersQuery')
          await tab.untilShown('users', rows('Ada'))
          await create.user({ name: 'Bea' })
          await tab.untilShown('users', rows('Ada', 'Bea'))
          await driver.app.graphql(tenant, rename, { id })
          await tab.untilShown('users', rows('Bea', 'Cleo'))
          await driver.app.graphql(tenant, remove, { id })
          await tab.untilShown('users', rows('Bea'))
          await tab.setHidden(true)
          await create.user({ name: 'Dan' })
          const other = await openTab(transport)
          await other.show('users', 'LiveUsersQuery')
          await other.untilShown('users', rows('Bea', 'Dan'))
          expect((await tab.shown('users')).at(-1)?.data).toMatchObject(rows('Bea'))
          await tab.setHidden(false)
          await tab.untilShown('users', rows('Bea', 'Dan'))
        },
      )

      it('which goes on through a restart and the end of its token, and on the next visit', async () => {
        const { tab, create, session } = await open()
        await tab.show('users', 'LiveUsersQuery')
        await tab.untilShown('users', rows())
        await driver.stopGateway()
        await create.user({ name: 'Ada' })
        await driver.startGateway()
        await tab.untilShown('users', rows('Ada'))
        await session.replaceKey()
        await create.user({ name: 'Bea' })
        await tab.untilShown('users', rows('Ada', 'Bea'))
        await tab.hide('users')
        await create.user({ name: 'Cleo' })
        await tab.show('again', 'LiveUsersQuery')
        await tab.untilShown('again', rows('Ada', 'Bea', 'Cleo'))
        await create.user({ name: 'Dan' })
        await tab.untilShown('again', rows('Ada', 'Bea', 'Cleo', 'Dan'))
      })

      it('whose results leave what the page expects of its own write', async () => {
        const { tab, create, openTab } = await open()
        const { id } = await create.user({ name: 'Before' })
        const other = await openTab()
        for (const each of [tab, other]) {
          await each.show('users', 'LiveUsersQuery')
          await each.untilShown('users', rows('Before'))
        }
        const seen = Promise.withResolvers<void>()
        void driver.site.fail(
          'RenameMutation',
          hold(() => seen.promise),
        )
        const user = { __typename: 'User', id, name: 'Mine' }
        const expected = { updateUser: { __typename: 'UpdateUserPayload', user, userErrors: [] } }
        const saved = tab.click('form', 'RenameMutation', { id, name: 'Mine' }, expected)
        await tab.untilShown('users', rows('Mine'))
        const before = (await tab.shown('users')).length
        await create.user({ name: 'Zed' })
        await other.untilShown('users', rows('Before', 'Zed'))
        seen.resolve()
        await saved
        await tab.untilShown('users', rows('Mine', 'Zed'))
        const shown = (await tab.shown('users')).slice(before).filter(({ data }) => data)
        expect(JSON.stringify(shown)).not.toContain('Before')
      })
    })

    describe('has a token', () => {
      it('that is asked for once, by a device with a wrong clock too', async () => {
        const { context, openTab, create, tokenRequests } = await driver.openStage()
        const { id } = await create.user()
        await context.addInitScript(() => {
          const { now } = Date
          Date.now = () => now() + 86_400_000
        })
        const tab = await openTab()
        for (const view of ['one', 'two', 'three']) await tab.show(view, 'NodeQuery', { id })
        await tab.untilShown('three', { node: { id } })
        await tab.show('four', 'UsersQuery')
        await tab.untilShown('four', { users: listOf(id) })
        expect(tokenRequests()).toBe(1)
      })

      it('that is renewed once for all requests that it was rejected for', async () => {
        const { tab, create, session, tokenRequests } = await open()
        const { id } = await create.user()
        await tab.show('before', 'NodeQuery', { id })
        await tab.untilShown('before', { node: { id } })
        await session.replaceKey()
        await Promise.all([
          tab.show('users', 'UsersQuery'),
          tab.show('jobs', 'JobsQuery'),
          tab.show('count', 'CountQuery'),
        ])
        await tab.untilShown('users', { users: listOf(id) })
        await tab.untilShown('jobs', { jobs: listOf() })
        await tab.untilShown('count', { profileStats: { count: 0 } })
        expect(tokenRequests()).toBe(2)
      })

      it('that seven tabs share: it is asked for once, and renewed once', async () => {
        const { openTab, create, session, tokenRequests } = await driver.openStage()
        const { id } = await create.user()
        const tabs = [
          await openTab(),
          await openTab(),
          await openTab(),
          await openTab(),
          await openTab(),
          await openTab(),
        ]
        const show = async (view: string, document: DocumentName) => {
          await Promise.all(tabs.map((tab) => tab.show(view, document, { id })))
          await Promise.all(tabs.map((tab) => tab.untilShown(view, { user: { id } })))
        }
        await show('before', 'ContactQuery')
        tabs.push(await openTab())
        await show('also in a tab that was opened later', 'UserAccountsQuery')
        expect(tokenRequests()).toBe(1)
        await session.replaceKey()
        await show('after', 'AccountsQuery')
        expect(tokenRequests()).toBe(2)
      })

      it('unless the key of its backend was revoked: the page says so, and signs nobody out', async () => {
        const { tab, session } = await open()
        await session.revokeKey()
        await tab.show('users', 'UsersQuery')
        await expect
          .poll(async () => (await tab.shown('users')).at(-1)?.errors)
          .toEqual([expect.stringContaining('key')])
        expect(await tab.isSignedOut()).toBe(false)
      })

      it('until the session has ended, which the page learns', async () => {
        const { tab, create, session } = await open()
        const { id } = await create.user()
        await tab.follow('user', 'UserSubscription', { id })
        await tab.untilShown('user', { user: { id } })
        await session.end()
        await expect.poll(tab.isSignedOut).toBe(true)
      })
    })
  })
}
