// Generates the database client after an installation. `npm ci --omit=dev` installs no generator: there the client comes from another installation
// of the same version (deploy/image/build.sh).
import { execFileSync } from 'node:child_process'
import { createRequire } from 'node:module'

const { resolve } = createRequire(import.meta.url)
let command
try {
  command = resolve('prisma-cli/build/index.js')
} catch {
  process.stdout.write('The database client is not generated: the development packages are missing\n')
}
if (command) execFileSync(process.execPath, [command, 'generate'], { stdio: 'inherit' })
