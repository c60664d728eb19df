// After an installation, generates the database client, the operations of the console, and the image of an empty database;
// with the packages of development, also the clients that the tests of packages use.
// Prisma's generator is a package of development. An installation without these (`npm ci --omit=dev`) gets it in a
// temporary folder, and keeps none of it.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const entry = 'prisma-cli/build/index.js'
/** An image has no tests. */
const testSchemas = ['prisma-trees', 'pothos-trees'].map((name) => `packages/${name}/test/schema.prisma`)

function installedGenerator() {
  try {
    return createRequire(import.meta.url).resolve(entry)
  } catch {
    return undefined
  }
}

/** @param {string} folder */
function installGenerator(folder) {
  const { devDependencies } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  const generator = `prisma-cli@${devDependencies['prisma-cli']}`
  const args = [
    'install',
    generator,
    '--prefix',
    folder,
    '--no-save',
    '--ignore-scripts',
    '--legacy-peer-deps',
    '--no-audit',
    '--no-fund',
  ]
  execFileSync('npm', args, { stdio: ['ignore', 'ignore', 'inherit'], cwd: folder })
  return path.join(folder, 'node_modules', entry)
}

const folder = mkdtempSync(path.join(tmpdir(), 'fusion-generator-'))
const installed = installedGenerator()
const generator = installed ?? installGenerator(folder)
/** @param {string[]} options */
const generate = (...options) =>
  execFileSync(process.execPath, [generator, 'generate', ...options], { stdio: 'inherit' })
try {
  generate()
  if (installed) for (const schema of testSchemas.filter((file) => existsSync(file))) generate('--schema', schema)
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/** @param {URL} script */
const run = (script) => execFileSync(process.execPath, [fileURLToPath(script)], { stdio: 'inherit' })

run(new URL('../tools/console/write-operations.ts', import.meta.url))
try {
  run(new URL('create-image.js', import.meta.url))
} catch {
  process.stdout.write('There is no image of an empty embedded database, so a first start takes longer\n')
}
