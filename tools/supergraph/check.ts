import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { parse, print, visit } from 'graphql'
import { printSubgraphSchema } from '../../src/domain/schema.graphql.ts'
import { findBreaks } from './breaks.ts'

/**
 * Checks that a supergraph composes as it did with the earlier subgraph (test/fixtures/subgraph.graphql), and that
 * nobody loses anything: `node tools/supergraph/check.ts`. With `--write`, today's subgraph becomes the earlier one.
 */
const root = path.resolve(import.meta.dirname, '../..')
const earlier = path.join(root, 'test/fixtures/subgraph.graphql')
const orders = path.join(root, 'examples/supergraph/orders.graphql')

/** Descriptions are not compared. */
function withoutDescriptions(text: string): string {
  const document = visit(parse(text, { noLocation: true }), {
    enter: (node) => ('description' in node ? { ...node, description: undefined } : undefined),
  })
  return `${print(document)}\n`
}

const today = printSubgraphSchema()
if (process.argv.includes('--write')) {
  writeFileSync(earlier, withoutDescriptions(today))
} else {
  const read = (file: string) => readFileSync(file, 'utf8')
  const breaks = await findBreaks(read(earlier), today, [{ name: 'orders', text: read(orders) }])
  if (breaks.length > 0) {
    process.stderr.write(`${breaks.join('\n')}\n
This breaks supergraphs. If it is decided, say so in CHANGELOG.md, and run node tools/supergraph/check.ts --write.\n`)
    process.exitCode = 1
  }
}
