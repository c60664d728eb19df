import type { Sql } from '@fusion-gateway/sql'
import { type Parameter, type Statement, statement } from '@fusion-gateway/sql'
import { LRUCache } from 'lru-cache'
import type { DataModel, Model } from '../data-model.ts'
import type { SelectedColumns } from './columns.ts'
import { isNestedList, nestedListText, whereOfRelation } from './nested-list.ts'
import { isDated } from './order.ts'
import type { Ownership } from './owner.ts'
import type { Branch, Relation } from './relation.ts'
import { type Traits, traitsOf } from './where.ts'

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
  /** Whether it searches for a text, so that its plan depends on it. */
  readonly isPlannedForValues: boolean
  /**
   * Whether the last row only shows that there are more: no relations are read for it. The last parameter is the limit.
   */
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

/** A relation in a statement: the number of the CTE that has its rows, and of the CTE of the rows above. */
interface Step {
  readonly branch: Branch
  readonly number: number
  readonly above: number
}

/** A statement, and what decodes its result. Both are made of the same columns. */
interface PreparedTree {
  readonly statement: Statement
  /** The parameters after those of the root: the arguments of nested lists. */
  readonly parameters: readonly Parameter[]
  /** Whether its result can be long. */
  readonly isLong: boolean
  /** @param size the number of rows at the root for which relations were read. Undefined: all */
  decode(results: readonly unknown[][], size?: number): Tree
}

/** Creates the read of trees, of the columns that `columnsOf` returns for the rows of a branch. */
export function createTreeRead(model: DataModel, columnsOf: (branch: Branch) => SelectedColumns) {
  // An operation passes the same columns and branches each time, so they are their own keys, and are forgotten with it.
  // The text of a root says the rest: its conditions, the kind of its owner, and whether it is a page.
  const prepared = new WeakMap<SelectedColumns, WeakMap<readonly Branch[], LRUCache<string, PreparedTree>>>()

  function prepare(root: Root, branches: readonly Branch[]): PreparedTree {
    const ofColumns = prepared.get(root.columns) ?? new WeakMap<readonly Branch[], LRUCache<string, PreparedTree>>()
    prepared.set(root.columns, ofColumns)
    const trees = ofColumns.get(branches) ?? new LRUCache<string, PreparedTree>({ max: maxTexts })
    ofColumns.set(branches, trees)
    const known = trees.get(root.text)
    if (known) return known
    const tree = prepareTree(model, root, branches, columnsOf)
    trees.set(root.text, tree)
    return tree
  }

  /**
   * Reads the rows of a root and the relations below them with one statement, so they are of one moment.
   *
   * @param onReceived called with the length of what the server sent, before it is decoded. What it throws is thrown
   */
  return async (
    sql: Sql,
    root: Root,
    branches: readonly Branch[],
    onReceived: (length: number) => void,
  ): Promise<Tree> => {
    const { statement: sent, parameters, isLong, decode } = prepare(root, branches)
    const results = await sql.query(sent, [...root.parameters, ...parameters])
    if (isLong) onReceived(lengthOf(results))
    return decode(results, root.isPage ? Number(root.parameters.at(-1)) - 1 : undefined)
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
 * @param parameters of the statement. Those of a nested list are added
 */
export function relatedText(
  model: DataModel,
  relation: Relation,
  columns: SelectedColumns,
  owned: Ownership,
  keys: string,
  parameters: Parameter[],
): string {
  if (isNestedList(relation)) return nestedListText(model, relation, columns, owned, keys, parameters)
  const table = model(relation.model)
  const text =
    `SELECT ${columns.list} FROM "${table.name}" ` +
    `WHERE ${owned.conditionOn(relation.model)} AND "${table.columnOf(relation.by).column}" = ANY (${keys})`
  if (relation.kind === 'one') return text
  return `${text} ORDER BY ${isDated(table) ? `"${table.columnOf('createdAt').column}", ` : ''}"id"`
}

/** A tree with more relations would delay other reads on its connection. */
const maxShortSteps = 4

/** The statements that are kept for the filters and orders of one list. */
const maxTexts = 8

/**
 * A CTE per level, and a JSON text per level with an array per column. Creating and reading these costs less than rows
 * or objects do.
 */
function prepareTree(
  model: DataModel,
  root: Root,
  branches: readonly Branch[],
  columnsOf: (branch: Branch) => SelectedColumns,
): PreparedTree {
  const steps: Step[] = []
  const columnsOfLevels = [root.columns]
  const ctes = [`level_0 AS (${root.text})`]
  const parameters = [...root.parameters]
  const traits: Traits[] = []

  /** Adds a CTE for the rows of a relation. Returns its number. */
  function addLevel(branch: Branch, above: number): number {
    const { parent, relation, from } = branch
    const columns = columnsOf(branch)
    const limit = above === 0 && root.isPage ? ` LIMIT $${root.parameters.length}::integer - 1` : ''
    const keys = `SELECT "${model(parent).columnOf(from).column}" FROM level_${above}${limit}`
    const number = columnsOfLevels.push(columns) - 1
    // An array makes PostgreSQL use the index. It does not know how few rows `IN (SELECT …)` would have.
    traits.push(traitsOf(model, relation.model, whereOfRelation(relation)))
    ctes.push(`level_${number} AS (${relatedText(model, relation, columns, root.owned, `ARRAY(${keys})`, parameters)})`)
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
  const isShortRead = root.isShortRead && ctes.length - 1 <= maxShortSteps && !traits.some(({ isSearch }) => isSearch)
  const isPrepared = root.isPrepared && !traits.some(({ isComposed }) => isComposed)
  const isPlannedForValues = root.isPlannedForValues || traits.some(({ hasSearchedText }) => hasSearchedText)
  const named = (text: string): Statement => ({
    ...(isPrepared ? statement(text, { isShortRead }) : { text }),
    isPlannedForValues,
  })
  if (steps.length === 0) {
    const { toRow, hasObjects } = root.columns
    const decode = (results: readonly unknown[][]) => ({ rows: results.map(toRow), levels: [] })
    return { statement: named(root.text), parameters: [], isLong: hasObjects, decode }
  }
  const results = columnsOfLevels.map(({ json }, number) => `(SELECT ${json} FROM level_${number})`)
  const text = `WITH ${ctes.join(', ')} SELECT ${results.join(', ')}`
  const added = parameters.slice(root.parameters.length)
  const isTree = isPrepared && !isPlannedForValues
  const decode = createDecode(columnsOfLevels, steps)
  return { statement: { ...named(text), isTree }, parameters: added, isLong: true, decode }
}

function createDecode(columnsOfLevels: readonly SelectedColumns[], steps: readonly Step[]): PreparedTree['decode'] {
  return ([texts = []], size) => {
    const [rows = [], ...below] = columnsOfLevels.map(({ toRows }, number): Row[] => toRows(texts[number] as string))
    const rowsOfLevels = [rows.slice(0, size), ...below]
    const levels = steps.map(({ branch: { relation, from }, number, above }): Level => {
      const keys = new Set<string>()
      for (const row of rowsOfLevels[above] ?? []) keys.add(row[from] as string)
      return { relation, keys, rows: rowsOfLevels[number] ?? [] }
    })
    return { rows, levels }
  }
}

function isSameRead({ relation, from }: Branch, other: Branch): boolean {
  return relation === other.relation && from === other.from
}

/**
 * Whether the rows below a branch have the rows above it as their relation: from the accounts of users back to their
 * users.
 */
function leadsBack({ parent, relation, from }: Branch, below: Branch): boolean {
  const { kind, model, by } = below.relation
  return kind === 'one' && model === parent && by === from && below.from === relation.by
}
