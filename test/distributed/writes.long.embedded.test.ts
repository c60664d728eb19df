import { randomBytes } from 'node:crypto'
import { createKeyRing } from '@fusion-gateway/auth'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openDatabase } from '../../src/database.ts'
import { createKey } from '../../src/domain/credential/key.service.ts'
import { resumeTenant, suspendTenant } from '../../src/domain/tenant/suspend-tenant.ts'
import { createTenant } from '../../src/domain/tenant/tenant.service.ts'
import { createGateway } from '../support/gateway.ts'
import { locationOf, settings } from '../support/settings.ts'
import { canCreateCitus, createCitusServers, distribute } from './citus-servers.ts'

const isTested = Boolean(process.env['TEST_CITUS_URL']) && canCreateCitus

describe.skipIf(!isTested)('on a distributed database', () => {
  it('changes of users, accounts, profiles and webhooks are statements that Citus accepts, as is the end of a suspension', async () => {
    const servers = await createCitusServers(2)
    onTestFinished(() => servers.remove())
    const { coordinator } = servers
    await distribute(servers)
    const database = await openDatabase(locationOf(coordinator.url))
    onTestFinished(() => database.close())
    const keyRing = createKeyRing([randomBytes(32)])
    const gateway = await createGateway(database, { ...settings, keyRing, fetchPrivateNetworks: true })
    onTestFinished(() => gateway.close())
    const { id: tenantAppId } = await createTenant(database, 'Tenant')
    const { key } = await createKey(database, { tenantAppId, name: 'key' })
    const headers = { 'x-api-key': key }
    const run = async (field: string) => {
      const payload = { query: `mutation { result: ${field} }` }
      const response = await gateway.app.inject({ method: 'POST', url: '/graphql', headers, payload })
      const { data, errors } = response.json()
      expect(errors).toBeUndefined()
      return data.result
    }

    const { user } = await run(
      'createUser(input: { name: "A", email: "a@example.com", phone: "1" }) { user { id updatedAt } }',
    )
    const changeUser = (rest: string) =>
      run(`updateUser(input: { id: "${user.id}", ${rest} }) { user { name } userErrors { code } }`)
    expect(await changeUser('name: "B"')).toEqual({ user: { name: 'B' }, userErrors: [] })
    const stale = await changeUser(`name: "C", expectedUpdatedAt: "${user.updatedAt}"`)
    expect(stale).toEqual({ user: { name: 'B' }, userErrors: [{ code: 'CONFLICT' }] })
    const { results } = await run(
      `updateUsers(inputs: [{ id: "${user.id}", name: "D" }, { id: "usr_1", name: "D" }]) { results { user { name } } }`,
    )
    expect(results).toEqual([{ user: { name: 'D' } }, { user: null }])

    const { account } = await run(
      `linkAccount(input: { userId: "${user.id}", platform: "X", platformAccountId: "1", displayName: "d" }) { account { id } }`,
    )
    const changed = await run(`updateAccount(input: { id: "${account.id}", status: EXPIRED }) { account { status } }`)
    expect(changed).toEqual({ account: { status: 'EXPIRED' } })
    for (const username of ['one', 'two']) {
      const input = `{ accountId: "${account.id}", username: "${username}", emails: [{ value: "e@example.com" }] }`
      expect(await run(`syncProfile(input: ${input}) { profile { username } }`)).toEqual({ profile: { username } })
    }

    const { webhook } = await run(
      'createWebhook(input: { url: "https://127.0.0.1:2001/", eventTypes: [USER_CREATED] }) { webhook { id } }',
    )
    for (const change of [
      'description: "d"',
      'url: "https://127.0.0.1:2002/"',
      'enabled: true',
      'eventTypes: [USER_DELETED]',
    ]) {
      const result = await run(`updateWebhook(input: { id: "${webhook.id}", ${change} }) { userErrors { code } }`)
      expect(result).toEqual({ userErrors: [] })
    }

    await suspendTenant(database, { id: tenantAppId })
    await resumeTenant(database, { id: tenantAppId, suspendedAt: new Date() })
  }, 120_000)
})
