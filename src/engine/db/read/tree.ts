import type { SqlQueryable } from '@prisma/driver-adapter-utils'
import { LRUCache } from 'lru-cache'
import type { DataModel, Model } from '../data-model.ts'
import { type Parameter, query, type Statement, statement } from '../statement.ts'
import type { SelectedColumns } from './columns.ts'
import type { Ownership } from './owner.ts'
import type { Branch, Relation } from './relation.ts'

type Row = Record<string, unknown>

/** The statement that reads the rows at the root of a tree. Its first parameters are those of the ownership. */
export interface Root {
  readonly model: Model
  readonly columns: SelectedColumns
  readonly text: string
  readonly owned: Ownership
  readonly parameters: readonly Parameter[]
  /** Whether it reads few rows, by an index. */
  readonly isShortRead: boolean
  /** Whether its text is one of few, so that connections prepare the statement. */
  readonly isPrepared: boolean
  /** Whether the last row only shows that there are more: no relations are read for it. The last parameter is the limit. */
  readonly isPage: boolean
}

/** Rows that a relation returned, and the ids for which they were read. */
export interface Level {
  readonly relation: Relation
  readonly keys: ReadonlySet<string>
  readonly rows: readonly Row[]
}

/** The rows of a root, and those of the relations below it. */
export interface Tree {
  readonly rows: readonly Row[]
  readonly levels: readonly Level[]
}

/** The columns to read of the rows of a relation. */
export type ColumnsOf = (relation: Relation) => SelectedColumns

/** A relation in a statement: the number of the CTE that has its rows, and of the CTE of the rows above. */
interface Step {
  readonly branch: Branch
  readonly number: number
  readonly above: number
}

interface PreparedTree {
  readonly statement: Statement
  readonly steps: readonly Step[]
}

/** Creates the read of trees. It uses the driver adapter directly (docs/decisions/0001-bypass-prisma-client-for-reads.md). */
export function createTreeRead(sql: SqlQueryable, model: DataModel) {
  // An operation passes the same branches and columns each time, so they are their own keys, and are forgotten with it.
  const prepared = new WeakMap<readonly Branch[] | SelectedColumns, LRUCache<string, PreparedTree>>()

  function prepare(root: Root, branches: readonly Branch[], columnsOf: ColumnsOf) {
    const key = branches.length > 0 ? branches : root.columns
    const trees = prepared.get(key) ?? new LRUCache<string, PreparedTree>({ max: maxTexts })
    const known = trees.get(root.text)
    if (known) return known
    const tree = prepareTree(model, root, branches, columnsOf)
    prepared.set(key, trees.set(root.text, tree))
    return tree
  }

  /**
   * Reads the rows of a root and the relations below them with one statement, so they are of one moment.
   *
   * @param columnsOf the columns to read of a relation below the root
   * @param onReceived called with the length of what the server sent, before it is decoded. What it throws is thrown
   */
  return async (
    root: Root,
    branches: readonly Branch[],
    columnsOf: ColumnsOf,
    onReceived: (length: number) => void,
  ): Promise<Tree> => {
    const { statement: sent, steps } = prepare(root, branches, columnsOf)
    const results = await query(sql, sent, root.parameters)
    if (steps.length > 0 || root.columns.hasObjects) onReceived(lengthOf(results))
    if (steps.length === 0) return { rows: results.map(root.columns.toRow), levels: [] }
    const [texts = []] = results
    const rows = root.columns.toRows(texts[0] as string)
    const size = root.isPage ? Number(root.parameters.at(-1)) - 1 : rows.length
    const rowsOfLevels: (readonly Row[])[] = [rows.slice(0, size)]
    const levels = steps.map(({ branch: { relation, from }, number, above }): Level => {
      const keys = new Set<string>()
      for (const row of rowsOfLevels[above] as readonly Row[]) keys.add(row[from] as string)
      rowsOfLevels[number] ??= columnsOf(relation).toRows(texts[number] as string)
      return { relation, keys, rows: rowsOfLevels[number] }
    })
    return { rows, levels }
  }
}

/** The length of the texts in a result, in characters. */
function lengthOf(results: readonly unknown[][]): number {
  let length = 0
  for (const row of results) for (const value of row) if (typeof value === 'string') length += value.length
  return length
}

/**
 * The SELECT of the rows of a relation.
 *
 * @param keys an expression: the array of ids for which they are read
 */
export function relatedText(
  model: DataModel,
  relation: Relation,
  columns: SelectedColumns,
  owned: Ownership,
  keys: string,
): string {
  const table = model(relation.model)
  const text =
    `SELECT ${columns.list} FROM "${table.name}" ` +
    `WHERE ${owned.conditionOn(relation.model)} AND "${table.columnOf(relation.by).column}" = ANY (${keys})`
  return relation.kind === 'many' ? `${text} ORDER BY "created_at", "id"` : text
}

/** A tree with more relations would delay other reads on its connection. */
const maxShortSteps = 4

/** The statements that are kept for the filters and orders of one list. */
const maxTexts = 8

/**
 * A CTE per level, and a JSON text per level with an array per column. Creating and reading these costs less than rows or
 * objects do (docs/decisions/0010-one-statement-for-a-tree.md).
 */
function prepareTree(model: DataModel, root: Root, branches: readonly Branch[], columnsOf: ColumnsOf): PreparedTree {
  const steps: Step[] = []
  const ctes = [`level_0 AS (${root.text})`]
  const results = [`(SELECT ${root.columns.json} FROM level_0)`]

  /** Adds a CTE for the rows of a relation. Returns its number. */
  function addLevel({ parent, relation, from }: Branch, above: number): number {
    const columns = columnsOf(relation)
    const limit = above === 0 && root.isPage ? ` LIMIT $${root.parameters.length}::integer - 1` : ''
    const keys = `SELECT "${model(parent).columnOf(from).column}" FROM level_${above}${limit}`
    const number = ctes.length
    // An array makes PostgreSQL use the index. It does not know how few rows `IN (SELECT …)` would have.
    ctes.push(`level_${number} AS (${relatedText(model, relation, columns, root.owned, `ARRAY(${keys})`)})`)
    results.push(`(SELECT ${columns.json} FROM level_${number})`)
    return number
  }

  function add(parent: Model, above: number, below: readonly Branch[]): void {
    for (const branch of below) {
      // A selection on a node can have fields of several types. These rows have one type.
      if (branch.parent !== parent) continue
      let step = steps.find((other) => other.above === above && isSameRead(other.branch, branch))
      if (!step) {
        const back = steps.find(({ number }) => number === above)
        const number = back && leadsBack(back.branch, branch) ? back.above : addLevel(branch, above)
        step = { branch, number, above }
        steps.push(step)
      }
      add(branch.relation.model, step.number, branch.branches)
    }
  }

  add(root.model, 0, branches)
  const isShortRead = root.isShortRead && ctes.length - 1 <= maxShortSteps
  const text = steps.length === 0 ? root.text : `WITH ${ctes.join(', ')} SELECT ${results.join(', ')}`
  return { statement: root.isPrepared ? statement(text, { isShortRead }) : { text }, steps }
}

function isSameRead({ relation, from }: Branch, other: Branch): boolean {
  return relation === other.relation && from === other.from
}

/** Whether the rows below a branch have the rows above it as their relation: from the accounts of users back to their users. */
function leadsBack({ parent, relation, from }: Branch, below: Branch): boolean {
  const { kind, model, by } = below.relation
  return kind === 'one' && model === parent && by === from && below.from === relation.by
}
