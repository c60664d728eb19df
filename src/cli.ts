#!/usr/bin/env node
import './cli/compile-cache.js'

const { run } = await import('./cli/run.ts')

// A reader that stops early (`fusion keys list | head -1`) is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') process.stderr.write(`The output could not be written: ${error.message}\n`)
  process.exit(error.code === 'EPIPE' ? 0 : 1)
})

await run(process.argv.slice(2), process)
