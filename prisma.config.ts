// `generate`, `validate` and `format` require the schema engine's binary, which a closed network cannot download, but never
// run it. So the variable can name any existing file.
if (process.argv.some((word) => ['generate', 'validate', 'format'].includes(word))) {
  process.env['PRISMA_SCHEMA_ENGINE_BINARY'] ??= process.execPath
}

// Without a helper of Prisma, so that an installation without packages of development can generate the client too.
export default { schema: 'prisma/schema.prisma', migrations: { path: 'prisma/migrations' } }
