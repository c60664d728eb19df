import { defineConfig } from 'prisma/config'

// `generate`, `validate` and `format` ask for the schema engine's binary, which a closed network cannot download,
// and never run it. Pointing the variable at any existing file answers the question; migrations do not come this
// way (src/db/migrate.ts runs the same engine as WebAssembly).
if (process.argv.some((word) => ['generate', 'validate', 'format'].includes(word))) {
  process.env['PRISMA_SCHEMA_ENGINE_BINARY'] ??= process.execPath
}

export default defineConfig({ schema: 'prisma/schema.prisma', migrations: { path: 'prisma/migrations' } })
