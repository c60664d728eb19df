import { globSync } from 'node:fs'
import type { Reporter } from 'vitest/node'

/** Says at the end of `npm test` which tests it has left out. */
export const leftOut: Reporter = {
  onTestRunEnd() {
    const files = globSync(['{test,packages/*/test}/**/*.{postgres,slow}.*'], {
      cwd: `${import.meta.dirname}/../..`,
    })
    process.stdout.write(
      `${files.length} test files take longer, or need other programs or a PostgreSQL server: \`npm run test:all\` runs them too.\n`,
    )
  },
}
