import { execFile } from 'node:child_process'
import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import ts from 'typescript'
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

const maxLines = 120
const maxParameters = 6

/** The functions of a file, nested ones included, that are too long or have too many parameters. */
function longFunctions(file: string): string[] {
  const source = ts.createSourceFile(file, readFileSync(path.join(projectRoot, file), 'utf8'), ts.ScriptTarget.Latest)
  const lineAt = (position: number) => source.getLineAndCharacterOfPosition(position).line + 1
  const found: string[] = []
  function visit(node: ts.Node, assignedTo = ''): void {
    const own = (node as Partial<ts.NamedDeclaration>).name?.getText(source)
    const name = own ?? assignedTo
    if (ts.isFunctionLike(node) && 'body' in node && node.body) {
      const start = lineAt(node.getStart(source))
      const lines = lineAt(node.end) - start + 1
      const { length } = node.parameters
      if (lines > maxLines || length > maxParameters)
        found.push(`${file}:${start} ${name}: ${lines} lines, ${length} parameters`)
    }
    ts.forEachChild(node, (child) => visit(child, ts.isVariableDeclaration(node) ? own : ''))
  }
  visit(source)
  return found
}

it('no function has more than 120 lines or six parameters', () => {
  const files = globSync('{src,packages/*/src}/**/*.{ts,js}', {
    cwd: projectRoot,
    exclude: ['**/generated/**', '**/*.generated.ts', 'packages/console/src/files/**'],
  })
  expect(files.length).toBeGreaterThan(100)
  expect(files.flatMap(longFunctions)).toEqual([])
})
