import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { projectRoot, readBlocks } from '../support/docs.ts'

let copy: string
beforeAll(() => {
  copy = mkdtempSync(path.join(tmpdir(), 'fusion-production-'))
  const files = ['package.json', 'package-lock.json', 'tsconfig.json', 'schema.graphql', 'README.md']
  for (const name of [...files, 'bin', 'docs', 'packages', 'prisma', 'src']) {
    cpSync(path.join(projectRoot, name), path.join(copy, name), { recursive: true })
  }
  // Hard links are quick. They do not work between file systems.
  const modules = path.join(projectRoot, 'node_modules')
  execFileSync('sh', ['-c', `cp -al ${modules} . 2>/dev/null || cp -a ${modules} .`], { cwd: copy })
  // npm writes to this file, which is that of the project otherwise.
  const list = 'node_modules/.package-lock.json'
  rmSync(path.join(copy, list))
  cpSync(path.join(projectRoot, list), path.join(copy, list))
})
afterAll(() => rmSync(copy, { recursive: true }))

describe('an installation without development packages', () => {
  it('is made by the commands of docs/operating.md, and serves with the Node that it brings', async () => {
    const [block] = readBlocks('docs/operating.md', 'Installing for production')
    const [install, ...rest] = block?.code.trim().split('\n') ?? []
    expect(install).toBe('npm ci --omit=dev')
    // What it installs is here already, with the packages of development. test/docs/scripts.once runs it.
    const PATH = process.env['PATH']?.split(':').filter((folder) => !folder.includes('node_modules'))
    const settings = { PATH: PATH?.join(':'), npm_config_audit: 'false', npm_config_fund: 'false' }
    const env = { ...process.env, ...settings, DATA_DIR: 'memory', PORT: '0' }
    for (const command of ['npm prune --omit=dev', ...rest.slice(0, -1)])
      execFileSync('sh', ['-ec', command], { cwd: copy, env, stdio: 'pipe' })
    expect(() => execFileSync('sh', ['-ec', 'ls node_modules/vitest'], { cwd: copy, stdio: 'pipe' })).toThrow()

    const gateway = spawn('sh', ['-ec', rest.at(-1) ?? ''], {
      cwd: copy,
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
    })
    let output = ''
    for await (const chunk of gateway.stdout) {
      output += String(chunk)
      if (output.includes('x-api-key: ')) break
    }
    const [address] = /http:\/\/127\.0\.0\.1:\d+/.exec(output) ?? []
    const key = /x-api-key: (\S+)/.exec(output)?.[1] ?? ''
    const users = await (await fetch(`${address}/users?limit=1`, { headers: { 'x-api-key': key } })).json()
    const guide = await (await fetch(`${address}/guides/rest`)).text()
    process.kill(-(gateway.pid ?? 0), 'SIGTERM')
    await once(gateway, 'exit')
    expect(users).toMatchObject({ users: [{}] })
    expect(guide).toContain('<h1 id="rest">REST</h1>')
  })
})
