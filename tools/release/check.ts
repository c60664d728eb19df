// Says what is missing for a release, and exits with 1 if anything is. CONTRIBUTING.md has the steps.
//
//   npm run check -- release
//   npm run check -- release --set 0.2.0    writes the version wherever the project names its own
import { execFileSync } from 'node:child_process'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { findMissing } from './missing.ts'
import { setVersion } from './places.ts'

const root = path.resolve(import.meta.dirname, '../..')
const { values } = parseArgs({ options: { set: { type: 'string' } } })
if (values.set !== undefined) setVersion(root, values.set)

const missing = findMissing(root, true)
const changes = execFileSync('git', ['status', '--porcelain'], { cwd: root, encoding: 'utf8' })
if (changes !== '') missing.push('There are changes that are not committed.')
process.stdout.write(missing.length === 0 ? 'Nothing is missing. Tag this commit.\n' : `${missing.join('\n')}\n`)
process.exitCode = missing.length === 0 ? 0 : 1
