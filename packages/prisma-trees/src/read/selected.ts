import type { DataModel, Model } from '../data-model.ts'
import { isDated, oldestFirst, orderOf } from './order.ts'
import { type ListRequest, maxPageSize } from './page.ts'
import { type Branch, type ReadPlan, relationTo } from './relation.ts'
import type { Tree } from './tree.ts'

// What a read in the terms of Prisma Client asks for: `where`, `orderBy`, `take`, and a nested `select` or `include`.

/** The arguments of `findMany`, as far as they are supported. */
export interface ReadArguments {
  readonly where?: object | undefined
  readonly orderBy?: object | undefined
  readonly take?: number | undefined
  readonly select?: Selected | null | undefined
  readonly include?: Selected | null | undefined
}

type Selected = Readonly<Record<string, boolean | ReadArguments | undefined>>

const supported: readonly (keyof ReadArguments)[] = ['where', 'orderBy', 'take', 'select', 'include']

/** @throws Error for an argument that is not supported */
export function requireNames(args: object, names: readonly string[], what: string): void {
  for (const [name, value] of Object.entries(args)) {
    if (value !== undefined && !names.includes(name))
      throw new Error(`The argument \`${name}\` of ${what} is not supported`)
  }
}

/** @throws Error for an argument that is not supported, or a `take` that no page has */
function requireSupported(args: ReadArguments, what: string): void {
  requireNames(args, supported, what)
  if (args.select && args.include) throw new Error(`${what} has \`select\` and \`include\`: give one of them`)
  requireTake(args, what)
}

/** @throws Error for a `take` that no page has */
export function requireTake({ take }: Pick<ReadArguments, 'take'>, what: string): void {
  if (take !== undefined && !(Number.isInteger(take) && take >= 0 && take <= maxPageSize)) {
    throw new Error(`The argument \`take\` of ${what} must be from 0 to ${maxPageSize}`)
  }
}

/**
 * The rows that `findMany` reads. They are one more than `take`, as the rows of a page are.
 *
 * @throws Error without `take`, because an owner can have any number of rows
 */
export function requestOf(model: DataModel, modelName: Model, args: ReadArguments): ListRequest {
  requireSupported(args, `findMany of ${modelName}`)
  const { where = {}, take } = args
  if (take === undefined) throw new Error(`findMany of ${modelName} needs the argument \`take\``)
  const order = orderIn(model, modelName, args)
  return { where, order, direction: order.direction, limit: take + 1 }
}

function orderIn(model: DataModel, modelName: Model, { orderBy }: ReadArguments) {
  if (orderBy !== undefined && [orderBy].flat().length > 0) return orderOf(model, modelName, orderBy)
  return isDated(model(modelName)) ? oldestFirst : orderOf(model, modelName, { id: 'asc' })
}

/** A field of a selection: one that has a column, or one that has related rows, whose branch is in the plan. */
interface SelectedField {
  readonly field: string
  readonly branch?: Branch
  readonly below?: Selection
}

interface Selection {
  readonly fields: readonly SelectedField[]
}

/** A plan for one read, and what converts the rows that it returns to the result of Prisma Client. */
export interface SelectedPlan {
  readonly plan: ReadPlan
  readonly branches: readonly Branch[]
  toResults(tree: Tree): Record<string, unknown>[]
}

/** Plans the read of a nested `select` or `include`. Without them all columns are read, and no relation. */
export function planOf(model: DataModel, modelName: Model, args: ReadArguments): SelectedPlan {
  // Rows of a model can be read once for several places, so they have the columns that any of these needs.
  const columns = new Map<Model, Set<string>>()
  const columnsOf = (table: Model) => {
    const known = columns.get(table) ?? new Set<string>()
    columns.set(table, known)
    return known
  }
  const selection = selectionOf(model, modelName, args, columnsOf)
  const plan: ReadPlan = { fieldsOf: columnsOf, branchesOf: () => [] }
  return {
    plan,
    branches: branchesIn(selection),
    toResults: ({ rows, levels }) => {
      const related = new Map(
        levels.map(({ relation, rows: all }) => [relation, Map.groupBy(all, (row) => row[relation.by])]),
      )
      const convert = (table: Model, { fields }: Selection, row: Readonly<Record<string, unknown>>): object =>
        Object.fromEntries(
          fields.map(({ field, branch, below }) => {
            if (!branch || !below) {
              const isTime = model(table).columnOf(field).type === 'DateTime'
              const value = row[field]
              return [field, isTime && value !== null ? new Date(value as string) : value]
            }
            const { relation, from } = branch
            const others = related.get(relation)?.get(row[from]) ?? []
            const results = others.map((other) => convert(relation.model, below, other))
            return [field, relation.kind === 'one' ? (results[0] ?? null) : results]
          }),
        )
      return rows.map((row) => convert(modelName, selection, row) as Record<string, unknown>)
    },
  }
}

function selectionOf(
  model: DataModel,
  of: Model,
  { select, include }: ReadArguments,
  columnsOf: (table: Model) => Set<string>,
): Selection {
  const table = model(of)
  const columns = table.columns.map(({ field }): SelectedField => ({ field }))
  const named = Object.entries(select ?? include ?? {}).flatMap(([field, wanted]): SelectedField[] => {
    if (wanted === undefined || wanted === false) return []
    const to = table.relationOf(field)
    if (!to) {
      table.columnOf(field)
      return [{ field }]
    }
    const args = wanted === true ? {} : wanted
    requireSupported(args, `${of}.${field}`)
    if (to.kind === 'one' && (args.where ?? args.orderBy ?? args.take) !== undefined) {
      throw new Error(`${of}.${field} is one row: \`where\`, \`orderBy\` and \`take\` are not supported`)
    }
    const below = selectionOf(model, to.model, args, columnsOf)
    const order = orderIn(model, to.model, args)
    const rows = { where: args.where ?? {}, order, direction: order.direction, limit: args.take }
    // A relation of its own, so that no other read of the request has its rows.
    const relation = { ...relationTo(to), ...(to.kind === 'many' && { rows }) }
    const branch = { parent: of, from: to.from, relation, fields: columnsOf(to.model), branches: branchesIn(below) }
    return [{ field, branch, below }]
  })
  const fields = select ? named : [...columns, ...named]
  for (const { field, branch } of fields) columnsOf(of).add(branch?.from ?? field)
  return { fields }
}

function branchesIn({ fields }: Selection): readonly Branch[] {
  return fields.flatMap(({ branch }) => branch ?? [])
}
