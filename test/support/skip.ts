import { existsSync } from 'node:fs'
import path from 'node:path'
import { projectRoot } from './docs.ts'

/**
 * Prints to stderr which tests are skipped, and why.
 *
 * @throws Error in CI, which must not skip tests
 */
export function skip(skipped: string, reason: string): void {
  if (process.env['CI']) throw new Error(`${skipped} must be tested in CI: ${reason}`)
  process.stderr.write(`SKIPPED ${skipped}: ${reason}\n`)
}

/** Whether the packages of an example are installed. Without them, its tests are {@link skip}ped. */
export function hasExample(example: string, skipped = `docs/recipes/${example}.md`): boolean {
  const isInstalled = existsSync(path.join(projectRoot, 'examples', example, 'node_modules'))
  if (!isInstalled) skip(skipped, `run npm ci --prefix examples/${example}`)
  return isInstalled
}
