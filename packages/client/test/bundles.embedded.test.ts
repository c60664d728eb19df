import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { build, type OutputChunk } from 'rolldown'
import { expect, it, onTestFinished } from 'vitest'
import { projectRoot } from '../../../test/support/docs.ts'

/** Bundles a page for browsers. Returns what it loads at first, and what it loads later. */
async function bundle(code: string) {
  const folder = mkdtempSync(path.join(projectRoot, 'node_modules/.cache/bundle-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const input = path.join(folder, 'page.js')
  writeFileSync(input, code)
  const { output } = await build({
    input,
    platform: 'browser',
    resolve: { conditionNames: ['fusion-source', 'import', 'browser', 'production', 'default'] },
    write: false,
    output: { format: 'esm', minify: true },
  })
  const chunks = new Map(
    output.filter((file): file is OutputChunk => file.type === 'chunk').map((chunk) => [chunk.fileName, chunk]),
  )
  const first = new Set<string>()
  const load = (name: string) => {
    if (first.has(name)) return
    first.add(name)
    for (const next of chunks.get(name)?.imports ?? []) load(next)
  }
  for (const { fileName, isEntry } of chunks.values()) if (isEntry) load(fileName)
  const codeOf = (isFirst: boolean) =>
    [...chunks.values()].filter(({ fileName }) => first.has(fileName) === isFirst).map((chunk) => chunk.code)
  return { first: codeOf(true), later: codeOf(false) }
}

it('a page with `createSend` and `follow` loads 5 KiB, and what sends subscriptions when it subscribes', async () => {
  const { first, later } = await bundle("export { createSend, follow } from '@fusion-gateway/client/fetch'")
  const bytes = first.reduce((sum, code) => sum + gzipSync(code).length, 0)
  expect(bytes).toBeLessThanOrEqual(5 * 1_024)
  // Names that the protocols of WebSockets and event streams have.
  for (const name of ['graphql-transport-ws', 'x-graphql-event-stream-token']) {
    expect(first.join()).not.toContain(name)
    expect(later.join()).toContain(name)
  }
})
