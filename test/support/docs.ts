import { readFileSync } from 'node:fs'
import path from 'node:path'

/** The root of the project. */
export const projectRoot = path.resolve(import.meta.dirname, '../..')

/** A fenced block of code in a Markdown file, and the paragraph before it. */
export interface CodeBlock {
  readonly intro: string
  readonly language: string
  readonly code: string
}

/** Reads a file of the project: `docs/jobs.md`. */
export function readPage(file: string): string {
  return readFileSync(path.join(projectRoot, file), 'utf8')
}

/**
 * Reads the fenced blocks of a Markdown file in order.
 *
 * @param heading only the blocks below this heading of the second level
 */
export function readBlocks(file: string, heading?: string): CodeBlock[] {
  const page = readPage(file)
  const part = heading === undefined ? page : page.split(/^## /m).find((section) => section.startsWith(`${heading}\n`))
  if (part === undefined) throw new Error(`${file} has no heading ${heading}`)
  return [...part.matchAll(/([^\n]*)\n\n```(\w+)\n(.*?)```/gs)].map(([, intro = '', language = '', code = '']) => {
    return { intro, language, code }
  })
}
