#!/usr/bin/env node
// JavaScript, so that Node loads its compiler of TypeScript only for files that the compile cache does not have: that takes a tenth of a second.
import '../src/cli/compile-cache.js'

await import('../src/cli.ts')
