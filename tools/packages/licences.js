// Checks the packages of all lock files: each has a hash, and those that the gateway runs with have an allowed licence.
// Lists the licences in docs/licences.md. Exits with 1 if a check fails.
//
//   node tools/packages/licences.js [--write]
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'

const root = path.resolve(import.meta.dirname, '../..')
const page = path.join(root, 'docs/licences.md')

/**
 * Licences that allow use in a closed product, and ask for no more than their text and notices. EPL-2.0 asks for the
 * source of changes.
 */
const allowed = new Set([
  'MIT',
  'Apache-2.0',
  'ISC',
  'BSD-2-Clause',
  'BSD-3-Clause',
  '0BSD',
  'BlueOak-1.0.0',
  'Unlicense',
  'EPL-2.0',
  'MIT and ISC',
])

/** Licences of packages whose package.json names none. */
const inOtherFiles = { 'seq-queue': 'MIT' }

const problems = []

function packagesOf(lockFile) {
  const { packages } = JSON.parse(readFileSync(path.join(root, lockFile), 'utf8'))
  return (
    Object.entries(packages)
      // The project itself and its folders are not from a registry.
      .filter(([location, { link }]) => location.includes('node_modules/') && !link)
      .map(([location, entry]) => ({ name: location.replace(/^.*node_modules\//, ''), ...entry }))
  )
}

for (const lockFile of globSync('**/package-lock.json', { cwd: root, exclude: ['**/node_modules/**'] })) {
  for (const { name, version, integrity } of packagesOf(lockFile)) {
    if (!/^sha512-/.test(integrity ?? '')) problems.push(`${lockFile}: ${name} ${version} has no sha512 hash`)
  }
}

const byLicence = new Map()
for (const { name, license = inOtherFiles[name], dev, devOptional } of packagesOf('package-lock.json')) {
  if (dev || devOptional) continue
  if (!allowed.has(license)) problems.push(`${name} has the licence ${license ?? 'unknown'}, which is not allowed`)
  byLicence.set(license, (byLicence.get(license) ?? new Set()).add(name))
}

const rows = [...byLicence]
  .toSorted(([one], [other]) => (one < other ? -1 : 1))
  .map(([licence, names]) => `| ${licence} | ${[...names].toSorted().join(', ')} |`)
const content = `# Licences

The packages that the gateway runs with, by licence. \`npm run check -- licences --write\` writes this page, and \`npm run check\` compares it. \`npx node tools/packages/sbom.js\` prints a
bill of materials (CycloneDX).

| Licence | Packages |
|---|---|
${rows.join('\n')}
`

if (process.argv.includes('--write')) writeFileSync(page, content)
else if (readFileSync(page, 'utf8') !== content)
  problems.push('docs/licences.md is out of date. Run: npm run check -- licences --write')

if (problems.length > 0) {
  process.stderr.write(`${problems.join('\n')}\n`)
  process.exitCode = 1
}
