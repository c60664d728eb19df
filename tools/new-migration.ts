/** Writes the migration that prisma/schema.prisma needs: `npm run migration -- a_few_words`. It touches no database. */
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { diffMigrationsAndSchema } from './schema-engine.ts'

const sql = await diffMigrationsAndSchema()
if (sql === undefined) process.stdout.write('The migrations match schema.prisma.\n')
else {
  const stamp = new Date().toISOString().replace(/\D/g, '').slice(0, 14)
  const words = process.argv
    .slice(2)
    .join(' ')
    .toLowerCase()
    .match(/[a-z0-9]+/g) ?? ['migration']
  const folder = path.join('prisma/migrations', [stamp, ...words].join('_'))
  mkdirSync(folder)
  writeFileSync(path.join(folder, 'migration.sql'), sql)
  process.stdout.write(`Wrote ${folder}/migration.sql\n`)
}
