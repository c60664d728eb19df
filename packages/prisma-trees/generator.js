// A generator of Prisma: writes the tables and columns of schema.prisma as TypeScript, for `createDataModel`.
// Its option `owner` names the field that holds the owner of a row.
import { writeFileSync } from 'node:fs'
import helper from '@prisma/generator-helper'

helper.generatorHandler({
  onManifest: () => ({ prettyName: 'tables', defaultOutput: './generated/tables.ts' }),
  async onGenerate({ dmmf, generator }) {
    const { models, enums } = dmmf.datamodel
    const enumNames = new Map(enums.map(({ name, dbName }) => [name, dbName ?? name]))
    const owner = String(generator.config['owner'])
    const tables = Object.fromEntries(models.map((model) => [model.name, toTable(model, models, enumNames, owner)]))
    const text = `// Written by @fusion-gateway/prisma-trees.\nexport const tables = ${JSON.stringify(tables, null, 2)} as const\n`
    writeFileSync(/** @type {{ value: string }} */ (generator.output).value, text)
  },
})

/** @typedef {{ name: string, dbName: string | null, fields: readonly any[] }} Model */

/**
 * @param {Model} model
 * @param {readonly Model[]} models
 * @param {ReadonlyMap<string, string>} enumNames
 * @param {string} owner
 */
function toTable({ name, dbName, fields }, models, enumNames, owner) {
  const columns = fields
    .filter(({ kind }) => kind !== 'object')
    .map((field) => ({
      field: field.name,
      column: field.dbName ?? field.name,
      type: field.type,
      sqlType: (enumNames.get(field.type) ?? sqlTypeOf(field.type)) + (field.isList ? '[]' : ''),
      isNullable: !field.isRequired,
      isDate: field.nativeType?.[0] === 'Date' || undefined,
      isNow: field.isUpdatedAt || field.default?.name === 'now' || undefined,
      default: field.default?.name ? undefined : field.default,
      index: /@index (prefix|nullsLast)\b/.exec(field.documentation ?? '')?.[1],
    }))
  // The foreign keys (owner, field).
  const parents = fields.flatMap(({ kind, type, relationFromFields: [first, field] = [] }) =>
    kind === 'object' && first === owner && field !== undefined ? [{ model: type, field }] : [],
  )
  const relations = fields.flatMap((field) => relationOf(field, models, owner))
  return { name: dbName ?? name, columns, parents, relations }
}

/**
 * The relation of a field to rows of the same owner: the field `from` of a row has the value of the field `by` of the
 * related rows.
 *
 * @param {any} field
 * @param {readonly Model[]} models
 * @param {string} owner
 */
function relationOf({ name, kind, type, isList, relationName, relationFromFields }, models, owner) {
  if (kind !== 'object') return []
  const isOwn = relationFromFields.length > 0
  const other = models.find((model) => model.name === type)?.fields.find((field) => field.relationName === relationName)
  const [first, foreignKey] = isOwn ? relationFromFields : other.relationFromFields
  if (first !== owner || foreignKey === undefined) return []
  const [from, by] = isOwn ? [foreignKey, 'id'] : ['id', foreignKey]
  return [{ field: name, model: type, kind: isList ? 'many' : 'one', from, by }]
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
  if (name === undefined) throw new Error(`Add PostgreSQL's name of the type ${type} to sqlTypes in the generator`)
  return name
}
