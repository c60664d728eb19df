import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { fusion, startGateway } from '../support/cli.ts'
import { migrate } from '../support/migrate.ts'
import {
  appRole,
  createDatabaseOfOwner,
  databaseUrl,
  dropDatabase,
  hasServer,
  ownerUrl,
} from '../support/postgresql.ts'

const names = ['Ünal', 'U\u0308NAL', 'INFO', 'info', 'İstanbul', 'ılık', 'ΟΔΟΣ', 'οδοσ', 'Жанна', 'Straße', '東京']

/** The names that a search finds, by their position. */
const found: Record<string, string[]> = {
  ünal: ['Ünal', 'U\u0308NAL'],
  'u\u0308NAL': ['Ünal', 'U\u0308NAL'],
  Info: ['INFO', 'info'],
  istanbul: ['İstanbul'],
  I: ['INFO', 'info', 'İstanbul'],
  ι: [],
  ΔΟΣ: ['ΟΔΟΣ', 'οδοσ'],
  жАН: ['Жанна'],
  SS: [],
  ß: ['Straße'],
  京: ['東京'],
}

const created: string[] = []
afterAll(async () => {
  for (const name of created) await dropDatabase(name)
})

describe.skipIf(!hasServer)('a search ignores case in the same way in a database with the locale', () => {
  it.each([
    ['c', `LOCALE 'C'`],
    ['turkish', `LOCALE_PROVIDER icu ICU_LOCALE 'tr' LOCALE 'C.UTF-8'`],
    ['unicode', `LOCALE 'C.UTF-8'`],
  ])('%s', async (locale, options) => {
    const name = `fusion_locale_${locale}_${process.pid}`
    created.push(name)
    await createDatabaseOfOwner(name, `ENCODING 'UTF8' TEMPLATE template0 ${options}`)
    await migrate(ownerUrl(name), appRole())
    const env = { DATABASE_URL: databaseUrl(name) }
    await fusion(['tenants', 'create', 'Acme'], env)
    const key = (await fusion(['keys', 'create', '--tenant', 'Acme'], env)).stdout.trim()
    const gateway = await startGateway(env)
    onTestFinished(async () => void (await gateway.stop('SIGTERM')))
    const send = async (query: string, variables: object) => {
      const headers = { 'x-api-key': key, 'content-type': 'application/json' }
      const body = JSON.stringify({ query, variables })
      const response = await fetch(`${gateway.address}/graphql`, { method: 'POST', headers, body })
      return (await response.json()) as { data: { users: { nodes: { name: string }[] } } }
    }
    await send('mutation ($inputs: [CreateUserInput!]!) { createUsers(inputs: $inputs) { results { user { id } } } }', {
      inputs: names.map((name, index) => ({ name, email: `${index}@example.com`, phone: '1' })),
    })
    for (const [search, expected] of Object.entries(found)) {
      const { data } = await send(
        'query ($search: String!) { users(filter: { nameContains: $search }) { nodes { name } } }',
        { search },
      )
      expect([search, data.users.nodes.map(({ name }) => name).sort()]).toEqual([search, [...expected].sort()])
    }
  })
})
