// Writes the operations of the REST routes to files, because graphql-eslint reads no templates with expressions.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { parse, print } from 'graphql'
import { routes } from '../../src/rest/routes.ts'

const folder = path.join(import.meta.dirname, 'operations')
rmSync(folder, { recursive: true, force: true })
mkdirSync(folder)
for (const { operation } of routes) {
  const document = parse(operation)
  const [{ name }] = document.definitions
  writeFileSync(path.join(folder, `${name.value}.graphql`), `${print(document)}\n`)
}
