import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const schema = readFileSync(new URL('schema.prisma', import.meta.url), 'utf8')
const cli = createRequire(import.meta.url).resolve('prisma-cli/build/index.js')

/** Generates the client of the blog with a part of its schema replaced. */
async function generate(part: string, replacement: string) {
  expect(schema).toContain(part)
  const folder = mkdtempSync(path.join(tmpdir(), 'prisma-trees-'))
  const file = path.join(folder, 'schema.prisma')
  writeFileSync(file, schema.replaceAll(part, replacement))
  try {
    await promisify(execFile)(process.execPath, [cli, 'generate', '--schema', file])
    return readFileSync(path.join(folder, 'generated/tables.ts'), 'utf8')
  } finally {
    rmSync(folder, { recursive: true })
  }
}

it('a client is generated of the schema of the blog', async () => {
  const tables = await generate('model', 'model')
  expect(tables).toBe(readFileSync(new URL('generated/tables.ts', import.meta.url), 'utf8'))
})

it.each([
  ['owner    = "blogId"\n', '', 'The generator needs `owner`'],
  ['owner    = "blogId"', 'owner    = "siteId"', 'No model has the field siteId'],
  ['@@id([blogId, id])\n  @@unique', '@@id([id])\n  @@unique', 'The key of PostTag must be @@id([blogId, id])'],
  [
    '  id     String\n  name',
    '  id     String @map("key")\n  name',
    'The field id of Tag must be a text in the column id',
  ],
  ['@@map("comment")', '@@map("parent")', 'The table of Comment needs another name than parent'],
  ['text      String', 'given_text String', 'The column of Comment.given_text needs another name'],
  ['updatedAt  DateTime', 'touchedAt  DateTime', 'The field Post.touchedAt has @updatedAt'],
  ['text      String', 'text      String @db.Uuid', 'The type of Comment.text is not supported'],
  ['createdAt DateTime @default(now()) @db.Timestamptz(3)', 'createdAt DateTime', 'Comment.createdAt is not supported'],
  ['  ARCHIVED', '  ARCHIVED @map("old")', 'The type of Post.status is not supported'],
  ['labels     String[]', 'labels     PostStatus[]', 'The type of Post.labels is not supported'],
])('the generator refuses %j ⇒ %j', async (part, replacement, message) => {
  await expect(generate(part, replacement)).rejects.toThrow(message)
})
