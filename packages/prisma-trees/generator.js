#!/usr/bin/env node
// A generator of Prisma: writes the tables and columns of schema.prisma as TypeScript, for `createDataModel`.
// Its option `owner` names the field that holds the owner of a row.
import { writeFileSync } from 'node:fs'
import helper from '@prisma/generator-helper'

helper.generatorHandler({
  onManifest: () => ({ prettyName: 'tables', defaultOutput: './generated/tables.ts' }),
  async onGenerate({ dmmf, generator }) {
    const owner = generator.config['owner']
    if (typeof owner !== 'string')
      throw new Error('The generator needs `owner`, the field that holds the owner of a row')
    const tables = toTables(dmmf.datamodel, owner)
    const text = `// Written by @fusion-gateway/prisma-trees.\nexport const tables = ${JSON.stringify(tables, null, 2)} as const\n`
    writeFileSync(/** @type {{ value: string }} */ (generator.output).value, text)
  },
})

/** @typedef {{ name: string, dbName: string | null, fields: readonly any[], primaryKey: { fields: readonly string[] } | null }} Model */
/** @typedef {{ name: string, dbName?: string | null, values: readonly { name: string, dbName: string | null }[] }} Enum */

/**
 * @param {{ models: readonly Model[], enums: readonly Enum[] }} datamodel
 * @param {string} owner
 */
function toTables({ models, enums }, owner) {
  const owned = models.filter(({ fields }) => fields.some(({ name }) => name === owner))
  if (owned.length === 0) throw new Error(`No model has the field ${owner}, the option \`owner\` of the generator`)
  for (const model of owned) requireSupported(model, owner)
  return Object.fromEntries(
    models.map((model) => {
      const { name, dbName, fields } = model
      const columns = fields.flatMap((field) => columnOf(field, enums, owned.includes(model) ? name : undefined))
      const parents = fields.flatMap((field) => {
        const foreignKey = foreignKeyOf(field, owner)
        return foreignKey === undefined ? [] : [{ model: field.type, field: foreignKey }]
      })
      const relations = fields.flatMap((field) => relationOf(field, models, owner))
      return [name, { name: dbName ?? name, columns, parents, relations }]
    }),
  )
}

/** Tables and columns of these names would be confused with those of the statements. */
const reservedTables = /^(given|parent|found|nearby|selected|level_\d+)$/
const reservedColumns = /^given_/

/**
 * @param {Model} model whose rows have an owner
 * @param {string} owner
 */
function requireSupported({ name, dbName, fields, primaryKey }, owner) {
  const [table, id] = [dbName ?? name, fields.find((field) => field.name === 'id')]
  const key = primaryKey?.fields ?? []
  if (id ? key.toSorted().join() !== ['id', owner].toSorted().join() : key.length < 3 || !key.includes(owner))
    throw new Error(`The key of ${name} must be @@id([${owner}, id])`)
  if (id && (id.type !== 'String' || (id.dbName ?? 'id') !== 'id'))
    throw new Error(`The field id of ${name} must be a text in the column id`)
  if (reservedTables.test(table)) throw new Error(`The table of ${name} needs another name than ${table}`)
  const reserved = fields.find((field) => reservedColumns.test(field.dbName ?? field.name))
  if (reserved) throw new Error(`The column of ${name}.${reserved.name} needs another name: it begins with given_`)
  const changed = fields.find((field) => field.isUpdatedAt && field.name !== 'updatedAt')
  if (changed) throw new Error(`The field ${name}.${changed.name} has @updatedAt, so its name must be updatedAt`)
}

/**
 * The column of a field. A column that no statement can have is an error, unless rows of the model have no owner.
 *
 * @param {any} field
 * @param {readonly Enum[]} enums
 * @param {string | undefined} owned the name of the model, if its rows have an owner
 */
function columnOf(field, enums, owned) {
  if (field.kind === 'object') return []
  const type = sqlTypeOf(field, enums)
  if (type === undefined && owned === undefined) return []
  if (type === undefined) throw new Error(`The type of ${owned}.${field.name} is not supported: see README.md`)
  const column = {
    field: field.name,
    column: field.dbName ?? field.name,
    type: field.type,
    sqlType: type + (field.isList ? '[]' : ''),
    isNullable: !field.isRequired,
    isDate: field.nativeType?.[0] === 'Date' || undefined,
    isNow: field.isUpdatedAt || field.default?.name === 'now' || undefined,
    default: field.default?.name ? undefined : field.default,
    index: /@index (prefix|nullsLast)\b/.exec(field.documentation ?? '')?.[1],
  }
  return [column]
}

/**
 * PostgreSQL's types, by those of Prisma: the one without an attribute, and those of attributes such as `@db.Json`.
 *
 * @type {Record<string, Record<string, string>>}
 */
const sqlTypes = {
  String: { default: 'text', Text: 'text', VarChar: 'text' },
  Int: { default: 'integer', Integer: 'integer' },
  BigInt: { default: 'bigint', BigInt: 'bigint' },
  Float: { default: 'double precision', DoublePrecision: 'double precision' },
  Boolean: { default: 'boolean', Boolean: 'boolean' },
  // A time without a time zone is another one in each session. Times have the milliseconds that a Date has.
  DateTime: { 'Timestamptz(3)': 'timestamptz', Date: 'timestamptz' },
  Json: { default: 'jsonb', JsonB: 'jsonb', Json: 'json' },
}

const listTypes = ['String', 'Int', 'BigInt', 'Float', 'Boolean']

/**
 * The type of a column, or of the elements of a list. Undefined if it is not supported.
 *
 * @param {any} field
 * @param {readonly Enum[]} enums
 */
function sqlTypeOf({ type, nativeType, isList }, enums) {
  if (isList && !listTypes.includes(type)) return undefined
  const named = enums.find(({ name }) => name === type)
  const [attribute = 'default', parameters = []] = nativeType ?? []
  if (!named) return sqlTypes[type]?.[attribute === 'Timestamptz' ? `${attribute}(${parameters})` : attribute]
  if (named.values.some(({ name, dbName }) => (dbName ?? name) !== name)) return undefined
  const name = named.dbName ?? named.name
  return /^[a-z_]+$/.test(name) ? name : `"${name}"`
}

/**
 * The field of a foreign key (owner, field) to the row of the same owner with this id.
 *
 * @param {any} field
 * @param {string} owner
 * @returns {string | undefined}
 */
function foreignKeyOf({ kind, relationFromFields = [], relationToFields = [] }, owner) {
  if (kind !== 'object' || relationFromFields.length !== 2) return undefined
  const place = relationFromFields.indexOf(owner)
  const isOwned = place >= 0 && relationToFields[place] === owner && relationToFields[1 - place] === 'id'
  return isOwned ? relationFromFields[1 - place] : undefined
}

/**
 * The relation of a field to rows of the same owner: the field `from` of a row has the value of the field `by` of the
 * related rows.
 *
 * @param {any} field
 * @param {readonly Model[]} models
 * @param {string} owner
 */
function relationOf(field, models, owner) {
  const { name, kind, type, isList, relationName } = field
  if (kind !== 'object') return []
  const own = foreignKeyOf(field, owner)
  const others = models
    .find((model) => model.name === type)
    ?.fields.filter((other) => other.relationName === relationName)
  const [foreign] = (others ?? []).flatMap((other) => foreignKeyOf(other, owner) ?? [])
  const [from, by] = own === undefined ? ['id', foreign] : [own, 'id']
  if (by === undefined) return []
  return [{ field: name, model: type, kind: isList ? 'many' : 'one', from, by }]
}
