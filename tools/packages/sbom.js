// Prints a bill of materials of the packages that the gateway runs with (CycloneDX). `npm sbom --omit dev` would leave
// out packages that others want as peers, such as graphql.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'

const root = path.resolve(import.meta.dirname, '../..')
const command = ['sbom', '--sbom-type', 'application', '--sbom-format', 'cyclonedx']
const sbom = JSON.parse(execFileSync('npm', command, { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 }))

const { packages } = JSON.parse(readFileSync(path.join(root, 'package-lock.json'), 'utf8'))
const needed = new Set(
  Object.entries(packages)
    .filter(([, { dev, devOptional }]) => !dev && !devOptional)
    // A package of this repository is a link to its folder.
    .map(([location, { version, resolved, link }]) => {
      const name = location.replace(/^.*node_modules\//, '')
      return `${name}@${link ? packages[resolved].version : version}`
    }),
)
const own = sbom.metadata.component['bom-ref']
const isNeeded = (ref) => ref === own || needed.has(ref)

const components = sbom.components.filter((component) => isNeeded(component['bom-ref']))
const dependencies = sbom.dependencies
  .filter(({ ref }) => isNeeded(ref))
  .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter(isNeeded) }))
process.stdout.write(`${JSON.stringify({ ...sbom, components, dependencies }, null, 2)}\n`)
