import { globSync } from 'node:fs'
import type { Reporter } from 'vitest/node'

/** Says at the end of a run on the embedded database which tests it has left out. */
export const needsPostgresql: Reporter = {
  onTestRunEnd() {
    const files = globSync('test/**/*.{postgres,once}.test.ts', { cwd: `${import.meta.dirname}/../..` })
    process.stdout.write(
      `${files.length} test files need a PostgreSQL server. To run them, set TEST_DATABASE_URL to the URL of a user who may create databases ` +
        'and roles. Then run `npm test` and `npm run test:partitioned`.\n',
    )
  },
}
