import { ConnectError, statement, sumOfTenants } from '@fusion-gateway/sql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../support/app.ts'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp()
  for (const name of ['One', 'Two', 'Three']) await app.createTenant(name)
})
afterAll(() => app.close())

const list = statement('SELECT name FROM tenant_app ORDER BY name')
const rename = statement('UPDATE tenant_app SET name = name WHERE name = $1')
const failing = statement('SELECT name::integer FROM tenant_app')

describe('work for all tenants', () => {
  it('is done for those after one whose work fails, and then rejects with its error', async () => {
    const { sql } = app.database
    const changed: string[] = []
    const work = sumOfTenants(sql, await sql.query(list), async (name) => {
      const rows = await sql.execute(name === 'One' ? failing : rename, name === 'One' ? [] : [name])
      changed.push(name)
      return rows
    })
    await expect(work).rejects.toThrow(/invalid input syntax for type integer/)
    expect(changed).toEqual(['Three', 'Two'])
    expect(await sumOfTenants(sql, await sql.query(list), (name) => sql.execute(rename, [name]))).toBe(3)
  })

  it('ends at once for the tenants of a server that no statement reaches', async () => {
    const tried: string[] = []
    const { sql } = app.database
    const work = sumOfTenants(sql, await sql.query(list), async (name) => {
      tried.push(name)
      throw new ConnectError('The server does not run.')
    })
    await expect(work).rejects.toThrow('The server does not run.')
    const ofServers = Map.groupBy(['One', 'Three', 'Two'], (name) => sql.nodeOf(name))
    expect(tried).toEqual([...ofServers.values()].map(([first]) => first))
  })
})
