// Generates the database client after an installation, and the image of an empty database. `npm ci --omit=dev` installs
// no generator: there the client comes from another installation of the same version (deploy/image/build.sh).
import { execFileSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

const { resolve } = createRequire(import.meta.url)
let command
try {
  command = resolve('prisma-cli/build/index.js')
} catch {
  process.stdout.write('The database client is not generated: the development packages are missing\n')
}
if (command) {
  execFileSync(process.execPath, [command, 'generate'], { stdio: 'inherit' })
  try {
    execFileSync(process.execPath, [fileURLToPath(new URL('create-image.js', import.meta.url))], { stdio: 'inherit' })
  } catch {
    process.stdout.write('There is no image of an empty embedded database, so a first start takes longer\n')
  }
}
