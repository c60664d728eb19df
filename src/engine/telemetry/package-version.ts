import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'

const root = path.resolve(import.meta.dirname, '../../..')

export function packageVersion(): string {
  return (JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { version: string }).version
}

/**
 * The version, the commit and the version of Node: `0.1.0 (commit 1a2b3c4, Node 24.21.0)`. An image has the commit in a
 * file, and a clone in its repository.
 */
export function fullVersion(): string {
  return `${packageVersion()} (commit ${findCommit() ?? 'unknown'}, Node ${process.versions.node})`
}

function findCommit(): string | undefined {
  const file = path.join(root, '.commit')
  if (existsSync(file)) return readFileSync(file, 'utf8').trim().slice(0, 12)
  // Not the repository of a project that this one is part of.
  if (!existsSync(path.join(root, '.git'))) return undefined
  try {
    const command = ['rev-parse', '--short=12', 'HEAD']
    return execFileSync('git', command, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return undefined
  }
}
