import { execFile } from 'node:child_process'
import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { projectRoot } from '../support/docs.ts'

it('tools/house.ts counts files of src, and those that run for a request', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['tools/house.ts'], { cwd: projectRoot })
  for (const name of [
    'lines of src and packages',
    'files of src and packages',
    'files with one importer',
    'settings',
    'commands',
  ])
    expect(stdout).toMatch(new RegExp(`^ +[1-9]\\d+  ${name}$`, 'm'))
  for (const name of ['user → accounts → profile', 'GET /users/{id}', 'createUser'])
    expect(stdout).toContain(`embedded, ${name}: `)
  const order = [
    'packages/http/src/graphql/route.ts',
    'packages/gateway-kit/src/operation/execute.ts',
    'packages/prisma-trees/src/read/tree.ts',
  ]
  const places = order.map((file) => stdout.indexOf(`  ${file}\n`))
  expect(places).toEqual(places.toSorted((one, other) => one - other))
  expect(places[0]).toBeGreaterThan(0)
})

it('tools/house.ts leaves no gateway and no folder when its reader ends first', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'fusion-pipe-'))
  const env = { ...process.env, TMPDIR: folder }
  await promisify(execFile)('sh', ['-c', `"${process.execPath}" tools/house.ts | head -n 10`], {
    cwd: projectRoot,
    env,
  })
  const environments = globSync('/proc/[0-9]*/environ').map((file) => {
    try {
      return readFileSync(file, 'utf8')
    } catch {
      // The process has ended, or belongs to another user.
      return ''
    }
  })
  expect(environments.filter((text) => text.includes(folder))).toHaveLength(0)
  expect(readdirSync(folder).filter((name) => name.startsWith('fusion-house-'))).toEqual([])
  rmSync(folder, { recursive: true })
})
