// A generator of Prisma: writes the tables and columns of schema.prisma to generated/tables.ts, for the SQL of src/engine/db.
import { writeFileSync } from 'node:fs'
import helper from '@prisma/generator-helper'

helper.generatorHandler({
  onManifest: () => ({ prettyName: 'tables', defaultOutput: '../src/engine/db/generated/tables.ts' }),
  async onGenerate({ dmmf, generator }) {
    const { models, enums } = dmmf.datamodel
    const enumNames = new Map(enums.map(({ name, dbName }) => [name, dbName ?? name]))
    const tables = Object.fromEntries(models.map((model) => [model.name, toTable(model, enumNames)]))
    const text = `// Written by prisma/write-tables.js.\nexport const tables = ${JSON.stringify(tables, null, 2)} as const\n`
    writeFileSync(/** @type {{ value: string }} */ (generator.output).value, text)
  },
})

/**
 * @param {{ name: string, dbName: string | null, fields: readonly any[] }} model
 * @param {ReadonlyMap<string, string>} enumNames
 */
function toTable({ name, dbName, fields }, enumNames) {
  const columns = fields
    .filter(({ kind }) => kind !== 'object')
    .map((field) => ({
      field: field.name,
      column: field.dbName ?? field.name,
      type: field.type,
      sqlType: (enumNames.get(field.type) ?? sqlTypeOf(field.type)) + (field.isList ? '[]' : ''),
    }))
  // The foreign keys (tenant_app_id, field).
  const parents = fields.flatMap(({ kind, type, relationFromFields: [tenant, field] = [] }) =>
    kind === 'object' && tenant === 'tenantAppId' && field !== undefined ? [{ model: type, field }] : [],
  )
  return { name: dbName ?? name, columns, parents }
}

/** @type {Record<string, string>} */
const sqlTypes = {
  String: 'text',
  Int: 'integer',
  BigInt: 'bigint',
  Float: 'double precision',
  Boolean: 'boolean',
  DateTime: 'timestamptz',
  Json: 'json',
}

/** @param {string} type */
function sqlTypeOf(type) {
  const name = sqlTypes[type]
  if (name === undefined)
    throw new Error(`Add PostgreSQL's name of the type ${type} to sqlTypes in prisma/write-tables.js`)
  return name
}
