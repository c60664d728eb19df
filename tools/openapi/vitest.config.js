import path from 'node:path'
import { defineConfig } from 'vitest/config'

/** The tools have packages of their own, so their checks are not part of `npm test`, and not called `.test`. */
export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ['*.check.js'],
    globalSetup: [path.join(import.meta.dirname, '../../test/support/template.ts')],
    pool: 'forks',
    isolate: false,
    maxWorkers: 1,
    experimental: { viteModuleRunner: false },
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
