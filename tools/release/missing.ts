import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { findOtherVersions } from './places.ts'

/**
 * Finds what files lack, each as a sentence that says what to do.
 *
 * @param root the folder of the project
 * @param isRelease whether the commit is to be a release; otherwise what each commit between releases must have
 */
export function findMissing(root: string, isRelease = false): string[] {
  const read = (file: string) => readFileSync(path.join(root, file), 'utf8')
  const { version } = JSON.parse(read('package.json')) as { version: string }
  const next = version.replace('-dev', '')
  const [top, ...earlier] = [...read('CHANGELOG.md').matchAll(/^## \[(.*)\] - (.*)$/gm)].map(
    ([, number = '', date = '']) => ({ number, isDated: /^\d{4}-\d\d-\d\d$/.test(date) }),
  )
  const last = earlier.find(({ isDated }) => isDated)?.number ?? 'none'
  const released = isRelease || top?.isDated ? next : last

  const missing = findOtherVersions(root, version)
  const need = (isThere: boolean | undefined, sentence: string) => {
    if (!isThere) missing.push(sentence)
  }
  if (isRelease) need(version === next, `The version is ${version}: npm run check -- release --set ${next}`)
  need(top?.number === next, `CHANGELOG.md does not begin with "## [${next}] - ", the version of package.json.`)
  if (isRelease || version === next) need(top?.isDated, `CHANGELOG.md has no date for ${next}.`)
  else need(!top?.isDated, `CHANGELOG.md has a date for ${next}, which package.json does not call a release.`)
  need(
    read('README.md').includes(`Version ${released} is released`),
    `README.md does not say that ${released} is released.`,
  )
  // The tests compare with the last release.
  const schema = `test/fixtures/release-${last}.graphql`
  need(existsSync(path.join(root, schema)), `${schema} is missing, the schema with which a test compares this one.`)
  const beside = 'test/db/previous-release.long.postgres.test.ts'
  need(read(beside).includes(`commit of version ${last}.`), `${beside} does not name the commit of version ${last}.`)
  return missing
}
