import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import packageLock from '../../package-lock.json' with { type: 'json' }
import { fusion } from '../support/cli.ts'
import { projectRoot } from '../support/docs.ts'

it('npm run sbom prints a CycloneDX document with every direct dependency, and without those of development', async () => {
  const options = { cwd: projectRoot, maxBuffer: 64 * 1024 * 1024 }
  const { stdout } = await promisify(execFile)('npm', ['run', '-s', 'sbom'], options)
  const { bomFormat, components } = JSON.parse(stdout) as { bomFormat: string; components: { name: string }[] }
  expect(bomFormat).toBe('CycloneDX')
  const names = components.map(({ name }) => name)
  // A folder of the project is no package of a registry.
  const direct = Object.entries(packageJson.dependencies).filter(([, version]) => !version.startsWith('file:'))
  expect(names).toEqual(expect.arrayContaining(direct.map(([name]) => name)))
  expect(names).not.toContain('vitest')
})

it('an installation for production has at most 130 packages', () => {
  const packages = packageLock.packages as Record<string, object>
  const installed = Object.entries(packages).filter(
    ([path, entry]) => path.startsWith('node_modules/') && !('dev' in entry),
  )
  expect(installed.length).toBeLessThanOrEqual(130)
})

it('fusion --version prints the version, the commit and the version of Node', async () => {
  const { stdout } = await fusion(['--version'], {})
  expect(stdout).toMatch(/^\d+\.\d+\.\d+ \(commit ([0-9a-f]{12}|unknown), Node \d+\.\d+\.\d+\)\n$/)
})
