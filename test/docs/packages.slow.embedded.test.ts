import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { fusion } from '../support/cli.ts'
import { projectRoot, readPage } from '../support/docs.ts'

it('tools/packages/sbom.js prints a CycloneDX document with every direct dependency, and without those of development', async () => {
  const options = { cwd: projectRoot, maxBuffer: 64 * 1024 * 1024 }
  const { stdout } = await promisify(execFile)(process.execPath, ['tools/packages/sbom.js'], options)
  const { bomFormat, components } = JSON.parse(stdout) as { bomFormat: string; components: { name: string }[] }
  expect(bomFormat).toBe('CycloneDX')
  const lists = [
    'package.json',
    ...globSync('packages/*/package.json', { cwd: projectRoot, exclude: ['packages/client/**'] }),
  ]
  const declared = lists.flatMap((file) => Object.keys(JSON.parse(readPage(file)).dependencies))
  const direct = declared.filter((name) => !name.startsWith('@fusion-gateway/'))
  const names = components.map(({ name }) => name)
  expect(names).toEqual(expect.arrayContaining(direct))
  expect(names).not.toContain('vitest')
})

it('an installation runs the install script of node alone', () => {
  // npm asks the lock file which packages have such scripts. After `npm install`, remove `hasInstallScript` of a new
  // package.
  const lockFiles = globSync('**/package-lock.json', {
    cwd: projectRoot,
    exclude: ['**/node_modules', '**/data'],
  }).toSorted()
  const marked = lockFiles.flatMap((file) => {
    const { packages } = JSON.parse(readPage(file)) as { packages: Record<string, object> }
    const names = Object.keys(packages).filter((name) => name !== '' && 'hasInstallScript' in (packages[name] ?? {}))
    return names.map((name) => `${file}: ${name}`)
  })
  expect(lockFiles.length).toBeGreaterThan(5)
  expect(marked).toEqual(['package-lock.json: node_modules/node'])
  const allowed = Object.entries(packageJson.allowScripts).filter(([, isAllowed]) => isAllowed)
  expect(allowed.map(([name]) => name)).toEqual(['node'])
})

it.each([
  ['check', ['nothing'], 'npm run check has no nothing.', 'licences'],
  ['check', ['types', 'toString'], 'npm run check has no toString.', 'licences'],
  ['check', ['--write'], 'Name what gets the option --write.', 'licences'],
  ['suite', [], 'npm run suite needs a name.', 'campaign'],
  ['bench', ['nothing', '--try'], 'npm run bench has no nothing.', 'webhooks'],
] as const)('npm run %s with %j ends with 2, and lists the names', async (script, args, message, name) => {
  const command = promisify(execFile)(process.execPath, ['tools/scripts.ts', script, ...args], { cwd: projectRoot })
  const { code, stderr } = await command.catch((error) => error)
  expect(code).toBe(2)
  expect(stderr).toContain(message)
  expect(stderr).toMatch(new RegExp(`^  ${name} `, 'm'))
})

it('fusion --version prints the version, the commit and the version of Node', async () => {
  const { stdout } = await fusion(['--version'], {})
  expect(stdout).toMatch(
    /^\d+\.\d+\.\d+(-dev(\+[0-9a-f]{12})?)? \(commit ([0-9a-f]{12}|unknown), Node \d+\.\d+\.\d+\)\n$/,
  )
})
