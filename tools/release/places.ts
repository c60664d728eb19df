import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'

/** Where the version is written: a file, and what matches the version in it. */
const places: readonly (readonly [file: string, version: RegExp])[] = [
  ['package.json', /(?<=^ {2}"version": ")[^"]+/gm],
  ['package-lock.json', /(?<="name": "(?:fusion-gateway|@fusion-gateway\/client)",\s+"version": ")[^"]+/g],
  ['packages/client/package.json', /(?<=^ {2}"version": ")[^"]+/gm],
  ['packages/client/src/version.ts', /(?<=^export const version: string = ')[^']+/gm],
  ...['docs/frontends.md', 'docs/recipes/apollo.md', 'docs/recipes/relay.md', 'docs/recipes/urql.md'].map(
    (file) => [file, /(?<=fusion-gateway-client-)[\w.-]+(?=\.tgz)/g] as const,
  ),
]

/** Writes a version, such as `0.2.0`, wherever the project names its own. */
export function setVersion(root: string, version: string): void {
  if (!/^\d+\.\d+\.\d+(-dev)?$/.test(version)) throw new Error(`${version} is no version such as 0.2.0 or 0.3.0-dev`)
  for (const [file, pattern] of places) {
    const text = readFileSync(path.join(root, file), 'utf8')
    writeFileSync(path.join(root, file), text.replaceAll(pattern, version))
  }
}

/** Finds the files that name another version than `package.json` does, and what they name. */
export function findOtherVersions(root: string, version: string): string[] {
  return places.flatMap(([file, pattern]) => {
    const named = readFileSync(path.join(root, file), 'utf8').match(pattern) ?? ['no version']
    return [...new Set(named)].filter((one) => one !== version).map((one) => `${file} names ${one}, not ${version}.`)
  })
}
