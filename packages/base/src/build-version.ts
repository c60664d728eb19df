import { readFileSync } from 'node:fs'
import path from 'node:path'

const root = path.resolve(import.meta.dirname, '../../..')

/** The version: `0.2.0`, or between releases with its commit, if known: `0.2.0-dev+1a2b3c4d5e6f`. */
export function buildVersion(folder: string = root): string {
  const { version } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as { version: string }
  const commit = version.includes('-') ? findCommit(folder) : undefined
  return commit === undefined ? version : `${version}+${commit}`
}

/** The version, the commit and the version of Node: `0.2.0-dev+1a2b3c4d5e6f (commit 1a2b3c4d5e6f, Node 24.21.0)`. */
export function fullVersion(): string {
  return `${buildVersion()} (commit ${findCommit(root) ?? 'unknown'}, Node ${process.versions.node})`
}

/**
 * Reads the commit from the file that an image has, or from the repository of a clone. It starts no git, which takes
 * longer than `fusion --help`, and which a container does not have.
 */
function findCommit(folder: string): string | undefined {
  const text = readText(folder, '.commit') ?? readHead(folder)
  return text === undefined ? undefined : /^[0-9a-f]{12}/.exec(text)?.[0]
}

/** Reads what HEAD refers to. The repository of a project that this one is part of is not looked for. */
function readHead(folder: string): string | undefined {
  // A worktree has a file instead of the folder: `gitdir: /path/to/repository/.git/worktrees/name`.
  const elsewhere = /^gitdir: (.*)/.exec(readText(folder, '.git') ?? '')?.[1]
  const git = path.resolve(folder, elsewhere ?? '.git')
  const head = readText(git, 'HEAD')
  const ref = /^ref: (.*)/.exec(head ?? '')?.[1]
  if (ref === undefined) return head
  // The branches of all worktrees are in the repository.
  const shared = path.resolve(git, readText(git, 'commondir')?.trim() ?? '.')
  return readText(shared, ref) ?? findPacked(readText(shared, 'packed-refs'), ref)
}

/** Finds a branch in the file into which git moves those that have not changed for long. */
function findPacked(list: string | undefined, ref: string): string | undefined {
  return list
    ?.split('\n')
    .find((line) => line.endsWith(` ${ref}`))
    ?.split(' ')[0]
}

function readText(...parts: [string, string]): string | undefined {
  try {
    return readFileSync(path.join(...parts), 'utf8')
  } catch {
    return undefined
  }
}
