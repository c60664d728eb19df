// Builds the image and uses it as a container engine would. Prints its size, the time until it is ready, and its peak
// memory.
//
// Where buildah is installed and this process is root, deploy/image/Dockerfile is built, and the services of
// compose.yaml are started from it, if how the image is built has changed since that was done last (built.txt), or with
// --build, which writes built.txt. Otherwise only the files of the image are built, and started without a container.
//
//   TEST_DATABASE_URL=postgresql://… npm run check -- image [--build]
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { buildVersion } from '@fusion-gateway/base'
import pg from 'pg'
import { buildImage } from './build-image.ts'
import { buildTree } from './build-tree.ts'
import { canBuildImages } from './buildah.ts'
import { checkCompose } from './check-compose.ts'
import { type Image, projectRoot, readCommit, run } from './image.ts'
import { type Measured, measure } from './measure.ts'
import { canStartServers } from './start-servers.ts'

const adminUrl = process.env['TEST_DATABASE_URL']
if (!adminUrl) {
  process.stderr.write(
    'The check of the image needs PostgreSQL: set TEST_DATABASE_URL to the URL of a user who may create databases, such as postgresql://postgres@127.0.0.1:5432/postgres\n',
  )
  process.exit(1)
}

const maxMemoryMib = 512
const maxSizeMib = 250

const print = (name: string, text: string) => process.stdout.write(`${name.padEnd(10)}${text}\n`)

function printMeasured(name: string, { readyMilliseconds, peakMib }: Measured): void {
  print(name, `ready after ${(readyMilliseconds / 1_000).toFixed(1)} s, at most ${peakMib.toFixed(0)} MiB`)
}

/** Measures a gateway on a new database of PostgreSQL, and on the embedded one. */
async function measureBoth(image: Image): Promise<{ server: Measured; embedded: Measured }> {
  const database = `fusion_image_${process.pid}`
  const admin = new pg.Client({ connectionString: adminUrl })
  await admin.connect()
  try {
    await admin.query(`CREATE DATABASE ${database}`)
    const url = new URL(adminUrl as string)
    url.pathname = `/${database}`
    const env = { DATABASE_URL: url.href }
    await run(image, ['migrate', 'deploy'], env)
    await run(image, ['tenants', 'create', 'Image'], env)
    await run(image, ['seed', '--tenant', 'Image', '--users', '1000'], env)
    const created = await run(image, ['keys', 'create', '--tenant', 'Image'], env)
    const readKey = (output: string) => /fus_\w+/.exec(output)?.[0] ?? ''
    const server = await measure(image, env, () => readKey(created))
    return { server, embedded: await measure(image, {}, readKey) }
  } finally {
    await admin.query(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`)
    await admin.end()
  }
}

/** A digest of what decides how the image is built and started: its recipe, its packages, and these checks. */
function digestOfRecipe(): string {
  const files = globSync(['.dockerignore', 'compose.yaml', 'package-lock.json', 'deploy/image/*', 'tools/image/*.ts'], {
    cwd: projectRoot,
  })
  const hash = createHash('sha256')
  for (const file of files.sort()) hash.update(`${file}\n`).update(readFileSync(path.join(projectRoot, file)))
  return hash.digest('hex')
}

const builtFile = path.join(import.meta.dirname, 'built.txt')
const isAsked = process.argv.includes('--build')
const isNew = isAsked || readFileSync(builtFile, 'utf8').trim() !== digestOfRecipe()

const begun = performance.now()
const containers = isNew && canBuildImages() ? buildImage() : undefined
const image = containers ?? buildTree()
try {
  const seconds = ((performance.now() - begun) / 1_000).toFixed(0)
  print('build', `${containers ? 'image' : 'only the files of the image'}, ${seconds} s`)
  print('size', `${image.sizeMib} MiB`)
  assert.ok(image.sizeMib <= maxSizeMib, `More than ${maxSizeMib} MiB`)
  assert.match(await run(image, ['--version']), new RegExp(`commit ${readCommit().slice(0, 12)}, Node 24`))
  // The commit of the image is in a file, and that of the clone in its repository.
  assert.equal((await run(image, ['--version'])).split(' ')[0], buildVersion())
  const { server, embedded } = await measureBoth(image)
  printMeasured('server', server)
  printMeasured('embedded', embedded)
  assert.ok(server.peakMib <= maxMemoryMib, `More than ${maxMemoryMib} MiB`)
  if (!isNew) print('compose', 'not started: how the image is built has not changed')
  else if (!containers) print('compose', 'not started: buildah is missing, or this process may not use it')
  else if (!canStartServers()) print('compose', 'not started: PostgreSQL or redis-server is missing')
  else print('compose', await checkCompose(containers))
  if (isAsked && containers) writeFileSync(builtFile, `${digestOfRecipe()}\n`)
} finally {
  await image.remove()
}
