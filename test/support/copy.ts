import { mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { projectRoot } from './docs.ts'

const own = '@fusion-gateway'

/** Gives a copy of the project what is installed here, and its own packages under their names. */
export function linkPackages(copy: string): void {
  const modules = path.join(projectRoot, 'node_modules')
  const linked = path.join(copy, 'node_modules')
  mkdirSync(path.join(linked, own), { recursive: true })
  for (const name of readdirSync(modules))
    if (name !== own) symlinkSync(path.join(modules, name), path.join(linked, name))
  for (const name of readdirSync(path.join(copy, 'packages'))) {
    symlinkSync(path.join(copy, 'packages', name), path.join(linked, own, name))
  }
}
