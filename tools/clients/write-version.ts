// Writes the version of this build into the package of the clients: npm leaves the commit out of a version.
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { buildVersion } from '@fusion-gateway/base'
import clientPackage from '../../packages/client/package.json' with { type: 'json' }

const file = path.resolve(import.meta.dirname, '../../packages/client/dist/version.js')
const text = readFileSync(file, 'utf8')
if (!text.includes(`'${clientPackage.version}'`)) throw new Error(`${file} has another version than the package`)
writeFileSync(file, text.replace(`'${clientPackage.version}'`, `'${buildVersion()}'`))
