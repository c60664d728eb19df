import { execFileSync, spawnSync } from 'node:child_process'

/** Runs buildah and returns what it prints. If it fails, the error has its log. */
export function buildah(...args: string[]): string {
  return execFileSync('buildah', args, { encoding: 'utf8', stdio: 'pipe', maxBuffer: 64 * 1024 * 1024 }).trim()
}

/** Whether a command of buildah succeeds. */
export function succeeds(...args: string[]): boolean {
  return spawnSync('buildah', args, { stdio: 'ignore' }).status === 0
}

/** Whether this process can build images: buildah is installed, and this process is root and may mount file systems. */
export function canBuildImages(): boolean {
  if (process.getuid?.() !== 0 || !succeeds('--version')) return false
  const container = `fusion-gateway-probe-${process.pid}`
  const canMount = succeeds('from', '--name', container, 'scratch') && succeeds('mount', container)
  succeeds('rm', container)
  return canMount
}
