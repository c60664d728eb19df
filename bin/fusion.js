#!/usr/bin/env node
// JavaScript, so that Node loads its compiler of TypeScript only for files that the compile cache does not have, which
// takes a tenth of a second, and so that an old Node gets to the message about it.
const { node } = process.versions
if (Number.parseInt(node, 10) < 24) {
  process.stderr.write(
    `Fusion Gateway needs Node 24, and this is Node ${node}. npm ci installs one, with which this runs it: npm run fusion -- --help\n`,
  )
  process.exit(1)
}

await import('../src/cli/compile-cache.js')
await import('../src/cli.ts')
