import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { loadHandlers } from '../../src/job/worker/load-handlers.ts'
import { newDataDir } from '../support/cli.ts'

function save(code: string): string {
  const file = path.join(newDataDir(), 'handlers.mjs')
  writeFileSync(file, code)
  return file
}

describe('a file of handlers', () => {
  it('has a handler for each function that it exports: not for classes, values and the default', async () => {
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

  it.each([
    ['is not there', () => '/nowhere/handlers.js', 'cannot be loaded'],
    ['does not parse', () => save('export function ('), 'cannot be loaded'],
    ['exports none', () => save('export const limit = 3'), 'exports no handler'],
  ])('that %s is refused, and named', async (_, file, message) => {
    await expect(loadHandlers(file())).rejects.toMatchObject({
      ...{ name: 'OperatorError', message: expect.stringMatching(new RegExp(`^/.*handlers.*${message}`)) },
    })
  })
})
