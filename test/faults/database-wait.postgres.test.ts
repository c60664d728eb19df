import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { openDatabase } from '../../src/database.ts'
import { waitForDatabase } from '../../src/server/run-process.ts'
import { fusion, startCommand } from '../support/cli.ts'
import { type CommandDatabase, createCommandDatabase } from '../support/command-database.ts'
import { hasServer } from '../support/postgresql.ts'
import { startProxy } from '../support/proxy.ts'
import { locationOf, settings } from '../support/settings.ts'

describe.skipIf(!hasServer)('a database that is not there when a process starts', () => {
  let database: CommandDatabase
  beforeAll(async () => {
    database = await createCommandDatabase()
  })
  afterAll(() => database.remove())

  const withUrl = (change: (url: URL) => void) => {
    const url = new URL(database.env['DATABASE_URL'] ?? '')
    change(url)
    return { ...database.env, DATABASE_URL: url.href }
  }

  it.each([
    ['serve', 'Server listening'],
    ['work', '"msg":"working"'],
  ])('is waited for by %s, which then works', async (name, started) => {
    const proxy = await startProxy(Number(new URL(database.env['DATABASE_URL'] ?? '').port || 5432))
    onTestFinished(() => proxy.close())
    proxy.cut()
    const env = withUrl((url) => {
      url.host = `127.0.0.1:${proxy.port}`
    })
    const command = await startCommand([name], { ...env, PORT: '0' }, 'waiting for the database')
    proxy.restore()
    await expect.poll(command.output).toContain(started)
    expect(await command.stop()).toMatchObject({ code: 0 })
  })

  it('ends the process when it is told to stop', async () => {
    const env = withUrl((url) => {
      url.host = '127.0.0.1:1'
    })
    for (const name of ['serve', 'work']) {
      const command = await startCommand([name], env, 'waiting for the database')
      expect(await command.stop()).toMatchObject({ code: 1 })
      expect(command.output()).toContain('The database cannot be reached: nothing answers at 127.0.0.1:1\n')
    }
  })

  it('is waited for no longer than a minute', async () => {
    expect(settings.databaseWaitMilliseconds).toBe(60_000)
    const database = await openDatabase(locationOf('postgresql://127.0.0.1:1/nowhere'))
    onTestFinished(() => database.close())
    const warn = vi.fn()
    const options = { milliseconds: 500, toldToStop: new Promise<void>(() => undefined), log: { warn } }
    await expect(waitForDatabase(database, options)).rejects.toThrow()
    expect(warn).toHaveBeenCalledWith(expect.anything(), 'waiting for the database')
  })

  it('is not waited for if its name is wrong', async () => {
    const env = withUrl((url) => {
      url.pathname = '/nobody'
    })
    for (const name of ['serve', 'work']) {
      const { code, stdout, stderr } = await fusion([name], env)
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toMatch(/database "nobody" does not exist \(3D000\)\n$/)
    }
  })
})
