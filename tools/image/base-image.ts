import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, realpathSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { buildah, succeeds } from './buildah.ts'

/** The stand-in stays in buildah's storage, so that later checks are quicker. `buildah rmi` removes it. */
const standIn = `localhost/fusion-gateway-base:node-${process.versions.node}`

/** The registry's certificates, in the stand-in. */
const certificates = '/usr/local/share/certificates.crt'

/**
 * Finds the image that a Dockerfile builds on: the one in buildah's storage, or the one in the registry. Where neither
 * is at hand, creates a stand-in from Debian's packages, with the Node of this process and the npm of this machine.
 *
 * @param name such as `node:24-slim`
 * @returns the name of an image in buildah's storage
 */
export function provideBaseImage(name: string): string {
  const official = `docker.io/library/${name}`
  if (succeeds('inspect', '--type', 'image', official) || succeeds('pull', '--quiet', official)) return official
  if (!succeeds('inspect', '--type', 'image', standIn)) createStandIn()
  return standIn
}

function createStandIn(): void {
  const container = buildah('from', 'scratch')
  try {
    const root = buildah('mount', container)
    const run = (program: string, ...args: string[]) => {
      execFileSync(program, args, { stdio: ['ignore', 'ignore', 'inherit'] })
    }
    run('debootstrap', '--variant=minbase', 'bookworm', root)
    run('chroot', root, 'useradd', '--uid', '1000', '--create-home', 'node')
    const local = path.join(root, 'usr/local')
    cpSync(process.execPath, path.join(local, 'bin/node'))
    cpSync(findNpm(), path.join(local, 'lib/node_modules/npm'), { recursive: true, dereference: true })
    for (const name of ['npm', 'npx']) {
      symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, path.join(local, 'bin', name))
    }
    const registry = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8', stdio: 'pipe' }).trim()
    const settings = ['--env', 'PATH=/usr/local/bin:/usr/bin:/bin', '--env', `npm_config_registry=${registry}`]
    const extra = process.env['NODE_EXTRA_CA_CERTS']
    if (extra && existsSync(extra)) {
      cpSync(extra, path.join(root, certificates), { dereference: true })
      settings.push('--env', `NODE_EXTRA_CA_CERTS=${certificates}`)
    }
    buildah('config', ...settings, container)
    buildah('umount', container)
    buildah('commit', '--quiet', container, standIn)
  } finally {
    buildah('rm', container)
  }
}

/** Finds the folder of the npm on the path. */
function findNpm(): string {
  const program = execFileSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim()
  return path.resolve(realpathSync(program), '../..')
}
