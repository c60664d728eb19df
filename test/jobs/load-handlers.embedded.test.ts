import { rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { loadHandlers } from '../../src/domain/job/worker/load-handlers.ts'
import { createEmptyDir } from '../support/data-dir.ts'

const folder = createEmptyDir()
afterAll(() => rmSync(folder, { recursive: true }))

let files = 0
function save(code: string): string {
  files += 1
  const file = path.join(folder, `handlers${files}.mjs`)
  writeFileSync(file, code)
  return file
}

describe('a file of handlers', () => {
  it('has a handler for each exported function, but not for classes, values and the default export', async () => {
    const file = save(`
      export async function one() {}
      export const two = () => ({})
      const three = () => ({})
      export { three as 'media.resize' }
      export class NotFound extends Error {}
      export const limit = 3
      export default () => ({})`)
    expect([...(await loadHandlers(file)).keys()].sort()).toEqual(['media.resize', 'one', 'two'])
  })

  it('can have handlers with the names of options', async () => {
    const file = save('export const isolated = () => ({}); export const maxSeconds = { isolated: 5 }')
    expect([...(await loadHandlers(file)).keys()]).toEqual(['isolated'])
  })

  it.each([
    ['is missing', () => '/nowhere/handlers.js', 'cannot be loaded'],
    ['does not parse', () => save('export function ('), 'cannot be loaded'],
    [
      'has an option for a type without a handler',
      () => save('export const one = () => {}; export const maxSeconds = { two: 5 }'),
      'maxSeconds names two, which is no handler',
    ],
    [
      'has an option of another type',
      () => save('export const one = () => {}; export const isolated = "yes"'),
      'isolated must be true or false',
    ],
    [
      'has a maximum run time of no second',
      () => save('export const one = () => {}; export const maxSeconds = { one: 0 }'),
      'maxSeconds must be a whole number from 1 to 604800',
    ],
    ['exports no handler', () => save('export const limit = 3'), 'exports no handler'],
  ])('that %s is rejected with its path', async (_, file, message) => {
    await expect(loadHandlers(file())).rejects.toMatchObject({
      name: 'OperatorError',
      message: expect.stringMatching(new RegExp(`^/.*handlers.*${message}`)),
    })
  })
})
