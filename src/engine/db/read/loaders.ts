import DataLoader from 'dataloader'
import { GatewayError } from '../../errors.ts'
import type { Model } from '../data-model.ts'
import { isStatementTimeout } from '../errors.ts'
import { isPossibleId } from '../storable.ts'
import { type Condition, hasSearchedText, isComposed, isSearch, type ListRequest } from './list.ts'
import { conditionsOfRelation, createNestedLists, type RelatedRows } from './nested-list.ts'
import type { Order } from './order.ts'
import type { Owner } from './owner.ts'
import type { Reads, ValueCount } from './reads.ts'
import { type Branch, noBranches, noPlan, type ReadPlan, type Relation, type SelectedRow } from './relation.ts'
import { keyOf, type StatsPart, type StatsResult } from './stats.ts'
import type { Level } from './tree.ts'

/** The reads of one request. They return rows of one owner only. */
export interface Loaders {
  /**
   * Loads a relation. Returns a value, and no promise, if the plan has read it already. Loads of the same relation in
   * one turn of the event loop are one statement.
   */
  load<Result>(relation: Relation<Model, Result>, key: string): Result | Promise<Result>
  /**
   * Loads a relation for many keys with one statement, without a promise for each key. Returns the values in the order
   * of the keys.
   */
  loadAll<Result>(relation: Relation<Model, Result>, keys: readonly string[]): Promise<Result[]>
  /** Restricts a relation to some of its rows, for the loads of this request. */
  restrict<Result>(relation: Relation<Model, Result>, rows: RelatedRows): Relation<Model, Result>
  /** Counts the rows of a relation. Counts of the same relation in one turn of the event loop are one statement. */
  countRelated(relation: Relation, key: string): Promise<number>
  /** Reads rows of a list, with one statement. */
  list<M extends Model>(model: M, request: ListRequest): Promise<SelectedRow<M>[]>
  /** Whether a list has a row in a window, with one statement. */
  hasRow(model: Model, request: ListRequest): Promise<boolean>
  /** Counts the rows that meet the conditions, with one statement. */
  count(model: Model, conditions: readonly Condition[]): Promise<number>
  /**
   * About how many rows meet the conditions, as PostgreSQL plans to read them; null if it would estimate that from
   * texts of other tenants.
   */
  estimate(model: Model, conditions: readonly Condition[]): Promise<number | null>
  /**
   * Returns a function that reads parts of the statistics of the rows that meet the conditions. Parts of one turn of
   * the event loop are one statement.
   */
  stats(
    model: Model,
    conditions: readonly Condition[],
  ): <Part extends StatsPart>(part: Part) => Promise<StatsResult<Part>>
  /** Counts the rows for each value of a field, with one statement. */
  countBy(model: Model, field: string): Promise<readonly ValueCount[]>
  /** Makes later reads return only the id and the fields of the plan. Before this call, rows have all fields. */
  follow(plan: ReadPlan): void
  /**
   * The same reads for a root field. They also read the relations that the plan has below the field, with the same
   * statement.
   */
  at(rootField: object): Loaders
  /** Forgets every row read so far. Called after a write. */
  clearAll(): void
}

/** Runs a read, possibly after those that wait before it. */
type Queued = <Result>(read: () => Promise<Result>) => Promise<Result>

/** Limits on the reads of a request. */
interface ReadLimits {
  /** Queues searches and counts. */
  readonly search: Queued
  /** Queues reads of many long JSON objects. */
  readonly objects: Queued
  /** The models whose rows have long JSON objects. */
  readonly longModels: ReadonlySet<Model>
  /** The most characters that the request may read. */
  readonly maxLength: number
}

const atOnce: Queued = (read) => read()

/** Reads of more rows are queued if the rows have long JSON objects. */
const maxObjects = 16

/** Creates the reads of one request: a DataLoader for each relation that is loaded. */
export function createLoaders(reads: Reads, owner: Owner, limits: ReadLimits): Loaders {
  const loaders = new Map<readonly Branch[], Map<Relation, DataLoader<string, unknown>>>()
  const counters = new Map<Relation, DataLoader<string, number>>()
  const restrict = createNestedLists()
  const read = new Map<Relation, Map<string, unknown>>()
  let plan = noPlan
  let received = 0

  /** @throws GatewayError TOO_EXPENSIVE, before the rows are decoded, which takes several times their length */
  function onReceived(length: number): void {
    received += length
    if (received <= limits.maxLength) return
    const mebibytes = limits.maxLength / 1024 / 1024
    throw new GatewayError(
      'TOO_EXPENSIVE',
      `The operation reads more than ${mebibytes} MiB. Request fewer rows or fields.`,
      { limit: 'read_length' },
    )
  }

  const queueFor = (model: Model, rows: number) =>
    rows > maxObjects && limits.longModels.has(model) && reads.hasObjects(model, plan) ? limits.objects : atOnce

  function remember({ relation, keys, rows }: Level): void {
    const values = read.get(relation) ?? new Map<string, unknown>()
    read.set(relation, values)
    const valueFor = grouped(relation, rows)
    for (const key of keys) if (!values.has(key)) values.set(key, valueFor(key))
  }

  /** Reads a relation for keys, and the branches below. */
  async function readAll(relation: Relation, branches: readonly Branch[], keys: readonly string[]): Promise<unknown[]> {
    // No statement is sent for a key that no row can have.
    const possible = keys.filter(isPossibleId)
    if (possible.length === 0) return keys.map(grouped(relation, []))
    const read = () => reads.related(relation, owner, possible, { plan, branches, onReceived })
    const conditions = [...conditionsOfRelation(relation), ...conditionsBelow(branches)]
    const queued = conditions.some(isSearch) ? limits.search : queueFor(relation.model, possible.length)
    const { rows, levels } = await orTooExpensive(conditions, queued(read))
    for (const level of levels) remember(level)
    return keys.map(grouped(relation, rows))
  }

  function loaderOf(relation: Relation, branches: readonly Branch[]): DataLoader<string, unknown> {
    const ofBranches = loaders.get(branches) ?? new Map<Relation, DataLoader<string, unknown>>()
    loaders.set(branches, ofBranches)
    const loader =
      ofBranches.get(relation) ?? new DataLoader<string, unknown>((keys) => readAll(relation, branches, keys))
    ofBranches.set(relation, loader)
    return loader
  }

  /** Counts are queued, because they can read many rows. */
  async function countAll(relation: Relation, keys: readonly string[]): Promise<number[]> {
    const possible = keys.filter(isPossibleId)
    const counting = limits.search(() => reads.countRelated(relation, owner, possible))
    const counts = await orTooExpensive(conditionsOfRelation(relation), counting)
    return keys.map((key) => counts.get(key) ?? 0)
  }

  function counterOf(relation: Relation): DataLoader<string, number> {
    const counter =
      counters.get(relation) ?? new DataLoader<string, number>((keys) => countAll(relation, keys), { cache: false })
    counters.set(relation, counter)
    return counter
  }

  function below(branches: readonly Branch[]): Loaders {
    // A node can have branches of several models. If none is of the relation's model, the load has no branches.
    const branchesOf = ({ model }: Relation) =>
      branches.some(({ parent }) => parent === model) ? branches : noBranches

    const own: Loaders = {
      load<Result>(relation: Relation<Model, Result>, key: string) {
        const own = branchesOf(relation)
        const values = own === noBranches ? read.get(relation) : undefined
        return (values?.has(key) ? values.get(key) : loaderOf(relation, own).load(key)) as Result | Promise<Result>
      },
      loadAll<Result>(relation: Relation<Model, Result>, keys: readonly string[]) {
        return readAll(relation, branchesOf(relation), keys) as Promise<Result[]>
      },
      restrict,
      countRelated: (relation, key) => counterOf(relation).load(key),
      async list(model, request) {
        const read = () => reads.list(model, owner, request, { plan, branches, onReceived })
        const conditions = [...request.conditions, ...conditionsBelow(branches)]
        const queued = isLong(request.order, conditions) ? limits.search : queueFor(model, request.limit)
        const { rows, levels } = await orTooExpensive(conditions, queued(read), request.order)
        for (const level of levels) remember(level)
        return rows as never
      },
      hasRow(model, request) {
        const queued = isLong(request.order, request.conditions) ? limits.search : atOnce
        return orTooExpensive(
          request.conditions,
          queued(() => reads.hasRow(model, owner, request)),
          request.order,
        )
      },
      count: (model, conditions) =>
        orTooExpensive(
          conditions,
          limits.search(() => reads.count(model, owner, conditions)),
        ),
      estimate: (model, conditions) => limits.search(() => reads.estimate(model, owner, conditions)),
      stats(model, conditions) {
        const readParts = (parts: readonly StatsPart[]) =>
          limits.search(() => reads.stats(model, owner, conditions, parts))
        const loader = new DataLoader<StatsPart, StatsResult<StatsPart>, string>(
          (parts) => orTooManyRows(readParts(parts)),
          { cacheKeyFn: keyOf },
        )
        return (part) => loader.load(part) as Promise<never>
      },
      countBy: (model, field) => limits.search(() => reads.countBy(model, owner, field)),
      follow(followed) {
        plan = followed
      },
      at(rootField) {
        const planned = plan.branchesOf(rootField)
        return planned.length > 0 ? below(planned) : own
      },
      clearAll() {
        read.clear()
        received = 0
        for (const ofBranches of loaders.values()) for (const loader of ofBranches.values()) loader.clearAll()
      },
    }
    return own
  }
  return below(noBranches)
}

/** Whether a list may read many rows that it does not return: it searches, or sorts those that are equal by a field. */
function isLong({ ties }: Order, conditions: readonly Condition[]): boolean {
  return ties !== undefined || conditions.some(isSearch)
}

/** The conditions of the nested lists that are read together with the rows above. */
function conditionsBelow(branches: readonly Branch[]): Condition[] {
  return branches.flatMap((branch) => [...conditionsOfRelation(branch.relation), ...conditionsBelow(branch.branches)])
}

/** What a relation returns for a key, from the rows that were read. */
function grouped({ kind, by }: Relation, rows: readonly Record<string, unknown>[]): (key: string) => unknown {
  if (kind === 'one') {
    const byKey = new Map<unknown, unknown>()
    for (const row of rows) byKey.set(row[by], row)
    return (key) => byKey.get(key) ?? null
  }
  const byKey = Map.groupBy(rows, (row) => row[by])
  return (key) => byKey.get(key) ?? []
}

/**
 * @param order of a list
 * @throws GatewayError TOO_EXPENSIVE if the conditions and orders that the client composed take longer than a statement
 *   may take
 */
async function orTooExpensive<Result>(
  conditions: readonly Condition[],
  read: Promise<Result>,
  order?: Order,
): Promise<Result> {
  try {
    return await read
  } catch (error) {
    const isSearched = conditions.some(hasSearchedText)
    const isComposedByClient = isSearched || conditions.some(isComposed) || order?.ties !== undefined
    if (!isComposedByClient || !isStatementTimeout(error)) throw error
    const message = order?.ties
      ? 'The filter and the order take too long. Use fewer conditions, conditions on ids, or no thenBy.'
      : `The filter takes too long. Use fewer conditions, or conditions on ids.${isSearched ? ' Search for a longer part of the text.' : ''}`
    throw new GatewayError('TOO_EXPENSIVE', message, { limit: 'filter_time', cause: error })
  }
}

/** @throws GatewayError TOO_EXPENSIVE if statistics take longer than a statement may take */
async function orTooManyRows<Result>(read: Promise<Result>): Promise<Result> {
  try {
    return await read
  } catch (error) {
    if (!isStatementTimeout(error)) throw error
    const message = 'The statistics take too long. Use a filter that selects fewer rows.'
    throw new GatewayError('TOO_EXPENSIVE', message, { limit: 'filter_time', cause: error })
  }
}
