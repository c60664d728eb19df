import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { buildVersion } from '@fusion-gateway/base'
import { provideBaseImage } from './base-image.ts'
import { buildah } from './buildah.ts'
import { type Image, projectRoot, readCommit } from './image.ts'
import { type RunningCommand, startCommand } from './running-command.ts'

/** A container: a copy of the image's files, in which several commands can run. */
export interface Container {
  start: Image['start']
  /** Runs a program as the image's user. Throws if it fails. */
  run(program: readonly string[], env?: Readonly<Record<string, string>>): string
  /** Lists the files that its commands have created or changed, besides those of volumes. */
  changedFiles(): string[]
}

/** An image in buildah's storage. Its containers share the network of this machine. */
export interface ContainerImage extends Image {
  /** The command of HEALTHCHECK. */
  readonly healthCheck: readonly string[]
  /** @param hosts the addresses of the host names that its commands look up */
  createContainer(hosts?: Readonly<Record<string, string>>): Container
}

interface ImageConfig {
  readonly Entrypoint: readonly string[]
  readonly Healthcheck: { readonly Test: readonly string[] }
}

/** `chroot` needs neither a container runtime nor cgroups. */
const isolation = ['--isolation', 'chroot', '--network', 'host']

/** Builds deploy/image/Dockerfile with buildah. */
export function buildImage(): ContainerImage {
  const file = path.join(projectRoot, 'deploy/image/Dockerfile')
  const base = /^FROM (\S+)/m.exec(readFileSync(file, 'utf8'))?.[1] ?? ''
  const tag = `localhost/fusion-gateway-check:${process.pid}`
  const context = `${base}=container-image://${provideBaseImage(base)}`
  // Only the format of Docker has health checks.
  const args = ['--build-arg', `COMMIT=${readCommit()}`, '--build-arg', `VERSION=${buildVersion()}`]
  const options = ['--format', 'docker', '--build-context', context, ...args]
  buildah('build', '--quiet', ...isolation, ...options, '--file', file, '--tag', tag, projectRoot)
  const { config } = JSON.parse(buildah('inspect', '--type', 'image', tag)).Docker as { config: ImageConfig }

  const containers: string[] = []
  const running: RunningCommand[] = []
  const createContainer: ContainerImage['createContainer'] = (hosts = {}) => {
    const names = Object.entries(hosts).flatMap(([host, address]) => ['--add-host', `${host}:${address}`])
    const container = buildah('from', ...names, tag)
    containers.push(container)
    return openContainer(container, config.Entrypoint, running)
  }
  const container = createContainer()
  const [size] = container.run(['du', '-sm', '/gateway']).split('\t')
  return {
    sizeMib: Number(size),
    healthCheck: config.Healthcheck.Test.slice(1),
    createContainer,
    start: (command, env) => container.start(command, env),
    async remove() {
      for (const one of running) await one.kill()
      for (const name of containers) buildah('rm', name)
      buildah('rmi', tag)
    },
  }
}

function openContainer(name: string, entrypoint: readonly string[], running: RunningCommand[]): Container {
  const created = new Date()
  const command = (program: readonly string[], env: Readonly<Record<string, string>>) => {
    const settings = Object.entries(env).flatMap((pair) => ['--env', pair.join('=')])
    return ['run', ...isolation, ...settings, name, '--', ...program]
  }
  return {
    start(args, env = {}) {
      const one = startCommand('buildah', command([...entrypoint, ...args], env))
      running.push(one)
      return one
    },
    run: (program, env = {}) => buildah(...command(program, env)),
    changedFiles() {
      const root = buildah('mount', name)
      const options = ['-xdev', '-type', 'f', '-newerct', created.toISOString()]
      const files = execFileSync('find', [root, ...options], { encoding: 'utf8' }).split('\n')
      buildah('umount', name)
      return files.filter((file) => file !== '').map((file) => file.slice(root.length))
    },
  }
}
