import type { Sql } from '@fusion-gateway/sql'
import { type Parameter, type Statement, statement } from '@fusion-gateway/sql'
import type { DataModel, Model, Row } from '../data-model.ts'
import { type AggregateArguments, aggregateText } from './aggregate.ts'
import { type SelectedColumns, selectColumns } from './columns.ts'
import { countByText, countText, pageText } from './list-texts.ts'
import { nestedCountText, rowsOfRelation, whereOfRelation } from './nested-list.ts'
import type { Order } from './order.ts'
import { createOwnerships, type Owner, type Ownership } from './owner.ts'
import type { ListRequest } from './page.ts'
import { type Branch, type IdField, noBranches, noPlan, type ReadPlan, type Relation } from './relation.ts'
import { planOf, type ReadArguments, requestOf } from './selected.ts'
import {
  canEstimate,
  decodePart,
  estimateText,
  maxCounted,
  ownRowsText,
  rowsOfPlan,
  type StatsPart,
  type StatsResult,
  shareText,
  statsText,
} from './stats.ts'
import { createTreeRead, relatedText, type Tree } from './tree.ts'
import { type Traits, traitsOf } from './where.ts'

/** What is read: the fields of each model, and the relations below the rows. */
interface ReadOptions {
  readonly plan?: ReadPlan
  readonly branches?: readonly Branch[]
  /** Texts by default, such as `2026-01-31T08:00:00.000Z`, because most times are only passed on. */
  readonly times?: Times
  /** Called with the length of rows before they are decoded, if it can be great. May throw. */
  readonly onReceived?: (length: number) => void
}

type Times = 'dates' | 'texts'

const ignore = () => undefined

export interface ValueCount {
  readonly value: string
  readonly count: number
}

/** Creates the reads of an owner's rows. They equal those of Prisma's `findMany`, except that times are texts. */
export function createReads(model: DataModel, onBatch: (size: number) => void = ignore): Reads {
  return new Reads(model, onBatch)
}

/** See `createReads`. */
export class Reads {
  private readonly model: DataModel
  private readonly onBatch: (size: number) => void
  private readonly columns: ReturnType<typeof createColumns>
  private readonly readTree: ReturnType<typeof createTreeRead>
  private readonly ownershipOf: ReturnType<typeof createOwnerships>

  // Columns belong to one model and one field. The rest of the text depends on the kinds of the relation and of the
  // owner.
  private readonly texts = new WeakMap<SelectedColumns, Map<string, string>>()

  constructor(model: DataModel, onBatch: (size: number) => void) {
    this.model = model
    this.onBatch = onBatch
    this.columns = createColumns(model)
    this.readTree = createTreeRead(model, ({ relation, fields }) =>
      this.columns(relation.model, fieldsOfRelation(relation), fields),
    )
    this.ownershipOf = createOwnerships(model)
  }

  private textOf(
    relation: Relation,
    selected: SelectedColumns,
    owned: Ownership,
    { within }: Owner,
    parameters: Parameter[],
  ): string {
    const keys = `$${parameters.length}`
    // Clients compose the arguments of nested lists, so their texts are many.
    if (rowsOfRelation(relation)) return relatedText(this.model, relation, selected, owned, keys, parameters)
    const known = this.texts.get(selected) ?? new Map<string, string>()
    const key = `${relation.kind} ${within?.model}`
    const text = known.get(key)
    if (text !== undefined) return text
    // `= ANY` has one text for any number of keys. Prisma's `IN` has one per number.
    const created = relatedText(this.model, relation, selected, owned, keys, parameters)
    this.texts.set(selected, known.set(key, created))
    return created
  }

  /** Reads the rows of a relation, oldest first, and the branches below. */
  async related(
    sql: Sql,
    relation: Relation,
    owner: Owner,
    keys: readonly string[],
    { plan = noPlan, branches = noBranches, times, onReceived = ignore }: ReadOptions = {},
  ): Promise<Tree> {
    this.onBatch(keys.length)
    const selected = this.columns(relation.model, fieldsOfRelation(relation), plan.fieldsOf(relation.model), times)
    const owned = this.ownershipOf(owner)
    const parameters: Parameter[] = [...owned.parameters, keys]
    const text = this.textOf(relation, selected, owned, owner, parameters)
    const { isSearch, isComposed, hasSearchedText } = traitsOf(this.model, relation.model, whereOfRelation(relation))
    const kind = { isShortRead: !isSearch, isPrepared: !isComposed, isPlannedForValues: hasSearchedText, isPage: false }
    const root = { model: relation.model, columns: selected, text, owned, parameters, ...kind }
    return this.readTree(sql, root, branches, onReceived)
  }

  private statementOf(text: string, modelName: Model, where: object): Statement {
    const { isComposed, hasSearchedText } = traitsOf(this.model, modelName, where)
    return { ...(isComposed ? { text } : statement(text)), isPlannedForValues: hasSearchedText }
  }

  traitsOf(modelName: Model, where: object): Traits {
    return traitsOf(this.model, modelName, where)
  }

  /** The list that arguments of Prisma Client ask for. */
  requestOf(modelName: Model, args: ReadArguments) {
    return requestOf(this.model, modelName, args)
  }

  planOf(modelName: Model, args: ReadArguments) {
    return planOf(this.model, modelName, args)
  }

  /** Whether rows that are read for the plan have JSON objects. */
  hasObjects(modelName: Model, plan: ReadPlan): boolean {
    return this.columns(modelName, [], plan.fieldsOf(modelName)).hasObjects
  }

  /** Reads all rows whose field `by` has one of the keys, oldest first, with their times as `Date`. */
  async batch<M extends Model>(
    sql: Sql,
    modelName: M,
    by: IdField<M>,
    owner: Owner,
    keys: readonly string[],
  ): Promise<Row<M>[]> {
    const { rows } = await this.related(sql, { kind: 'many', model: modelName, by }, owner, keys, { times: 'dates' })
    return rows as never
  }

  /** Reads rows of a list, with the field that it is ordered by, and the branches below. */
  async list(
    sql: Sql,
    modelName: Model,
    owner: Owner,
    request: ListRequest,
    { plan = noPlan, branches = noBranches, onReceived = ignore }: ReadOptions = {},
  ): Promise<Tree> {
    const selected = this.columns(modelName, fieldsOfOrder(request.order), plan.fieldsOf(modelName))
    const owned = this.ownershipOf(owner)
    const { text, parameters } = pageText(this.model, modelName, selected.list, owned, request)
    // Without conditions an index leads to the page. A search for a part of a text may read every row, and so may an
    // order in which many rows are equal by the first field.
    const { hasConditions, isComposed, hasSearchedText } = traitsOf(this.model, modelName, request.where)
    const isShortRead = !hasConditions && !request.order.ties
    const kind = { isShortRead, isPrepared: !isComposed, isPlannedForValues: hasSearchedText, isPage: true }
    const root = { model: modelName, columns: selected, text, owned, parameters, ...kind }
    return this.readTree(sql, root, branches, onReceived)
  }

  async hasRow(sql: Sql, modelName: Model, owner: Owner, request: ListRequest): Promise<boolean> {
    const { text, parameters } = pageText(this.model, modelName, '1', this.ownershipOf(owner), request)
    const rows = await sql.query(this.statementOf(text, modelName, request.where), parameters)
    return rows.length > 0
  }

  async count(sql: Sql, modelName: Model, owner: Owner, where: object): Promise<number> {
    const { text, parameters } = countText(this.model, modelName, this.ownershipOf(owner), where)
    const rows = await sql.query(this.statementOf(text, modelName, where), parameters)
    return Number(rows[0]?.[0])
  }

  /** What `aggregate` of Prisma Client returns, as one row, or with `by` what `groupBy` returns. */
  async aggregate(sql: Sql, modelName: Model, owner: Owner, args: AggregateArguments) {
    const { text, parameters, toResult } = aggregateText(this.model, modelName, this.ownershipOf(owner), args)
    return (await sql.query(this.statementOf(text, modelName, args.where ?? {}), parameters)).map(toResult)
  }

  /** Counts the rows of a relation for each key. Keys without rows are left out. */
  async countRelated(
    sql: Sql,
    relation: Relation,
    owner: Owner,
    keys: readonly string[],
  ): Promise<ReadonlyMap<string, number>> {
    const { text, parameters } = nestedCountText(this.model, relation, this.ownershipOf(owner), keys)
    const rows = await sql.query(this.statementOf(text, relation.model, whereOfRelation(relation)), parameters)
    return new Map(rows.map(([key, count]) => [String(key), Number(count)]))
  }

  /**
   * About how many rows are selected; null if it could be told only from the rows of other owners.
   */
  async estimate(sql: Sql, modelName: Model, owner: Owner, where: object): Promise<number | null> {
    const traits = traitsOf(this.model, modelName, where)
    if (!canEstimate(traits, sql.nodes.length > 0)) return null
    const owned = this.ownershipOf(owner)
    const readValue = async ({ text, parameters }: ReturnType<typeof estimateText>) =>
      (await sql.query({ text }, parameters))[0]?.[0]
    const planned = async (where: object) =>
      rowsOfPlan(await readValue(estimateText(this.model, modelName, owned, where)))
    const counted = Number(await readValue(ownRowsText(this.model, modelName, owned)))
    const share = counted > maxCounted ? await readValue(shareText(this.model, modelName, owner.id)) : counted
    if (share === null || share === undefined) return null
    // The plans see the rows of all owners. Their ratio tells how many of them are selected, not how many there are.
    const selected = await planned(where)
    const all = traits.hasConditions ? await planned({}) : selected
    return Math.round(Math.max(Number(share), Math.min(counted, maxCounted)) * Math.min(1, selected / all))
  }

  /** Reads parts of the statistics of the rows that are selected, in the order of the parts. */
  async stats(
    sql: Sql,
    modelName: Model,
    owner: Owner,
    where: object,
    parts: readonly StatsPart[],
  ): Promise<StatsResult<StatsPart>[]> {
    const { text, parameters } = statsText(this.model, modelName, this.ownershipOf(owner), where, parts)
    const isPlannedForValues = traitsOf(this.model, modelName, where).hasSearchedText
    const [row = []] = await sql.query({ text, isPlannedForValues }, parameters)
    return parts.map((part, index) => decodePart(part, row[index] as string | null))
  }

  /** Counts the rows for each value of a field, the most frequent ones first. */
  async countBy(sql: Sql, modelName: Model, owner: Owner, field: string): Promise<readonly ValueCount[]> {
    const { text, parameters } = countByText(this.model, modelName, this.ownershipOf(owner), field)
    const rows = await sql.query(statement(text), parameters)
    return rows.map(([value, count]) => ({ value: String(value), count: Number(count) }))
  }
}

/** The fields that the read of a relation itself needs: the one with the key, and those of the order. */
function fieldsOfRelation(relation: Relation): readonly string[] {
  const rows = rowsOfRelation(relation)
  return rows ? [relation.by, ...fieldsOfOrder(rows.order)] : [relation.by]
}

function fieldsOfOrder({ field, ties = [] }: Order): readonly string[] {
  return [field, ...ties.map((tie) => tie.field)]
}

/** Stands for all fields, in reads without a plan. */
const allFields: ReadonlySet<string> = new Set()

/**
 * Remembers the columns of each selection: the id, the fields that the read itself needs, and those of the plan. An
 * operation passes the same sets each time, so the sets are the keys.
 */
function createColumns(model: DataModel) {
  const known = new WeakMap<ReadonlySet<string>, Map<string, SelectedColumns>>()
  return (
    of: Model,
    also: readonly string[],
    fields: ReadonlySet<string> = allFields,
    times: Times = 'texts',
  ): SelectedColumns => {
    const byModel = known.get(fields) ?? new Map<string, SelectedColumns>()
    const key = `${of}.${also} ${times}`
    const selected = byModel.get(key)
    if (selected) return selected
    const isSelected = (field: string) =>
      fields === allFields || field === 'id' || also.includes(field) || fields.has(field)
    const columns = selectColumns(model(of), { isSelected: ({ field }) => isSelected(field), times })
    known.set(fields, byModel.set(key, columns))
    return columns
  }
}
