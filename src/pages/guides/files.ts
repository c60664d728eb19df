import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'

const root = path.resolve(import.meta.dirname, '../../..')

/** The files of the guides, as paths from the root of the project. */
export const listFiles = () =>
  globSync(['README.md', 'docs/*.{md,svg}', 'docs/images/console-*.webp', 'docs/{start,recipes}/*.md'], {
    cwd: root,
  }).toSorted()

export const readFile = (file: string) => readFileSync(path.join(root, file))

export const readText = (file: string) => readFileSync(path.join(root, file), 'utf8')

/** The URL of a file: `README.md` ⇒ `/guides`, `docs/recipes/relay.md` ⇒ `/guides/recipes/relay`. */
export const urlOf = (file: string) => file.replace(/^README\.md$|^docs/, '/guides').replace(/\.md$/, '')

/** The title of a page: its first heading. */
export const titleOf = (file: string) =>
  file === 'README.md' ? 'Overview' : (/^# (.*)/.exec(readText(file))?.[1] ?? file)

/**
 * Where a link of a page leads.
 *
 * @param file the page
 * @param href as the page has it
 * @returns a URL of the gateway or of another host; undefined if it is a file that is not served
 */
export function resolveLink(file: string, href: string, files: ReadonlyMap<string, string>): string | undefined {
  if (/^(?:https?:|#)/.test(href)) return href
  const [target = '', anchor] = href.split('#')
  const url = urlOf(path.posix.join(path.dirname(file), target))
  if (!files.has(url)) return undefined
  return anchor === undefined ? url : `${url}#${anchor}`
}

/** The anchor of a heading, as on GitHub: `One query` ⇒ `one-query`. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')
}

export const escapeHtml = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
