import { execFileSync, spawnSync } from 'node:child_process'

/** Runs buildah and returns what it prints. If it fails, the error has its log. */
export function buildah(...args: string[]): string {
  return execFileSync('buildah', args, { encoding: 'utf8', stdio: 'pipe', maxBuffer: 64 * 1024 * 1024 }).trim()
}

/** Whether a command of buildah succeeds. */
export function succeeds(...args: string[]): boolean {
  return spawnSync('buildah', args, { stdio: 'ignore' }).status === 0
}

/** Whether this process can build images: buildah is installed, and its isolation `chroot` needs root. */
export function canBuildImages(): boolean {
  return process.getuid?.() === 0 && succeeds('--version')
}
