import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/template.ts'],
    // A database of its own for each file, so files run side by side; the tests of a file run in order.
    pool: 'forks',
    // The files run as Node runs them, as the gateway itself does; Vite would load a second copy of graphql.
    experimental: { viteModuleRunner: false },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    env: { TZ: 'Asia/Kolkata' },
  },
})
