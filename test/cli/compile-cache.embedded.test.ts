import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'

const enabling = path.resolve(import.meta.dirname, '../../src/cli/compile-cache.js')
const entry = path.resolve(import.meta.dirname, '../../bin/fusion.js')
const folder = mkdtempSync(path.join(tmpdir(), 'fusion-cache-'))
const home = path.join(folder, 'home')
const temporary = path.join(folder, 'tmp')
const inTemporary = path.join(temporary, `fusion-gateway-${process.geteuid?.()}`)

/** Returns the folder of the compile cache of a process with this environment; undefined if the cache is off. */
function cacheFolder(env: Record<string, string>): string | undefined {
  const script = `await import(${JSON.stringify(enabling)}); process.stdout.write(process.env.NODE_COMPILE_CACHE ?? '')`
  return (
    execFileSync(process.execPath, ['--input-type=module', '--eval', script], { env, encoding: 'utf8' }) || undefined
  )
}

describe('the compile cache', () => {
  mkdirSync(temporary)
  afterAll(() => rmSync(folder, { recursive: true }))

  it('is in the cache of the user, and in a folder for temporary files if that cannot be written', () => {
    expect(cacheFolder({ XDG_CACHE_HOME: home, TMPDIR: temporary })).toBe(path.join(home, 'fusion-gateway'))
    writeFileSync(path.join(folder, 'file'), '')
    expect(cacheFolder({ XDG_CACHE_HOME: path.join(folder, 'file'), TMPDIR: temporary })).toBe(inTemporary)
  })

  it('is in a folder for temporary files if the user has no home', () => {
    const preloaded = path.join(folder, 'no-home.cjs')
    // As for a user id without a name.
    writeFileSync(
      preloaded,
      `const os = require('node:os'); for (const name of ['homedir', 'userInfo']) os[name] = () => { throw new Error('ENOENT') }
       require('node:module').syncBuiltinESMExports()`,
    )
    const env = { NODE_OPTIONS: `--require=${preloaded}`, TMPDIR: temporary }
    expect(cacheFolder(env)).toBe(inTemporary)
    expect(execFileSync(process.execPath, [entry, '--version'], { env, encoding: 'utf8' })).toMatch(/^\d/)
  })

  it('is off where other users can write, or a link leads elsewhere', () => {
    const env = { XDG_CACHE_HOME: '/dev/null', TMPDIR: temporary }
    chmodSync(inTemporary, 0o777)
    expect(cacheFolder(env)).toBeUndefined()
    rmSync(inTemporary, { recursive: true })
    symlinkSync(home, inTemporary)
    expect(cacheFolder(env)).toBeUndefined()
  })
})

it('an old Node says which one is needed, and how to run it', () => {
  const preloaded = `data:text/javascript,Object.defineProperty(process, 'versions', { value: { node: '20.20.2' } })`
  const { status, stderr } = spawnSync(process.execPath, ['--import', preloaded, entry, 'serve'], { encoding: 'utf8' })
  expect([status, stderr]).toEqual([
    1,
    expect.stringMatching(/^Fusion Gateway needs Node 24, .* Node 20\.20\.2\..*\n$/),
  ])
})
