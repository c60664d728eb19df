import { expect } from 'vitest'
import type { TestApp, TestTenant } from './app.ts'

type Results = Record<string, unknown>[]

/**
 * Creates the function that sends bulk mutations and returns their results, which have `userErrors` and what is
 * `selected`.
 */
export function createBulk(app: TestApp, tenant: TestTenant) {
  /** The same, with the errors of the whole call. */
  function send(name: string, inputs: readonly object[], selected = '') {
    const type = `${name.charAt(0).toUpperCase()}${name.slice(1).replace(/s$/, '')}Input`
    const query = `mutation ($inputs: [${type}!]!) { ${name}(inputs: $inputs) { results { ${selected} userErrors { code field message } } } }`
    return app.graphql<Record<string, { results: Results }>>(tenant, query, { inputs })
  }
  async function bulk(name: string, inputs: readonly object[], selected = ''): Promise<Results> {
    const { data, errors } = await send(name, inputs, selected)
    expect(errors).toBeUndefined()
    return data[name]?.results ?? []
  }
  return Object.assign(bulk, { send })
}
