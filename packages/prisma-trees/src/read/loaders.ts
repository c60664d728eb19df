import type { Sql } from '@fusion-gateway/sql'
import { isPossibleId, isStatementTimeout } from '@fusion-gateway/sql'
import DataLoader from 'dataloader'
import type { Model } from '../data-model.ts'
import type { AggregateArguments } from './aggregate.ts'
import { createNestedLists, type RelatedRows, whereOfRelation } from './nested-list.ts'
import type { Order } from './order.ts'
import type { Owner } from './owner.ts'
import type { ListRequest } from './page.ts'
import type { Reads, ValueCount } from './reads.ts'
import { type Branch, noBranches, noPlan, type ReadPlan, type Relation, type SelectedRow } from './relation.ts'
import type { ReadArguments } from './selected.ts'
import { keyOf, type StatsPart, type StatsResult } from './stats.ts'
import type { Level, Tree } from './tree.ts'
import type { Traits } from './where.ts'

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
  /** Reads rows in the terms of Prisma Client, with one statement. They are no rows of the plan of the request. */
  find(model: Model, args: ReadArguments): Promise<Record<string, unknown>[]>
  /** The list that arguments of Prisma Client ask for. */
  requestOf(model: Model, args: ReadArguments): ListRequest
  /** Reads rows of a list, with one statement. */
  list<M extends Model>(model: M, request: ListRequest): Promise<SelectedRow<M>[]>
  /** Whether a list has a row in a window, with one statement. */
  hasRow(model: Model, request: ListRequest): Promise<boolean>
  /** Counts the rows that are selected, with one statement. */
  count(model: Model, where: object): Promise<number>
  /** What `aggregate` of Prisma Client returns, as one row, or with `by` what `groupBy` returns. One statement. */
  aggregate(model: Model, args: AggregateArguments): Promise<Record<string, unknown>[]>
  /**
   * About how many rows are selected, as PostgreSQL plans to read them; null if it would estimate that from
   * texts of other owners.
   */
  estimate(model: Model, where: object): Promise<number | null>
  /**
   * Returns a function that reads parts of the statistics of the rows that are selected. Parts of one turn of
   * the event loop are one statement.
   */
  stats(model: Model, where: object): <Part extends StatsPart>(part: Part) => Promise<StatsResult<Part>>
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

/** Why a read of a request is refused. */
export interface Excess {
  /**
   * `length`: the request reads too many characters. Otherwise what makes a statement longer than it may take: its
   * conditions, its conditions and its order of several fields, or statistics of many rows.
   */
  readonly of: 'length' | 'filter' | 'order' | 'statistics'
  /** Whether it searches for a part of a text. */
  readonly isSearch: boolean
  /** The error of the statement. */
  readonly cause?: unknown
}

/** Limits on the reads of a request. */
export interface ReadLimits {
  /** Queues searches and counts. By default they start at once, like those below. */
  readonly search: Queued
  /** Queues reads of many long JSON objects. */
  readonly objects: Queued
  /** The models whose rows have long JSON objects. By default none. */
  readonly longModels: ReadonlySet<Model>
  /** The most characters that the request may read. By default any number. */
  readonly maxLength: number
  /** Creates the error of a read that is refused. By default that of the statement. */
  readonly errorFor: (excess: Excess) => unknown
}

const atOnce: Queued = (read) => read()

const noLimits: ReadLimits = {
  search: atOnce,
  objects: atOnce,
  longModels: new Set(),
  maxLength: Number.POSITIVE_INFINITY,
  errorFor: ({ cause = new Error('The request reads more than it may') }) => cause,
}

/** Reads of more rows are queued if the rows have long JSON objects. */
const maxObjects = 16

/**
 * What a DataLoader remembers, by key. A plan puts values there, without a promise for each of hundreds of rows, as
 * `prime` would make; what is loaded are promises.
 */
type Cache = Map<string, unknown>

/** Creates the reads of one request: a DataLoader for each relation that is loaded. */
export function createLoaders(sql: Sql, reads: Reads, owner: Owner, given: Partial<ReadLimits> = {}): Loaders {
  const limits = { ...noLimits, ...given }
  const loaders = new Map<readonly Branch[], Map<Relation, DataLoader<string, unknown>>>()
  const counters = new Map<Relation, DataLoader<string, number>>()
  const restrict = createNestedLists()
  /** The caches of the DataLoaders that read no branches. */
  const caches = new Map<Relation, Cache>()
  let plan = noPlan
  let received = 0

  /** @throws the error of the limits, before the rows are decoded, which takes several times their length */
  function onReceived(length: number): void {
    received += length
    if (received > limits.maxLength) throw limits.errorFor({ of: 'length', isSearch: false })
  }

  /**
   * @param order of a list
   * @throws the error of the limits if the conditions and orders that the client composed take longer than a statement
   *   may take
   */
  async function orTooExpensive<Result>(
    traits: readonly Traits[],
    read: Promise<Result>,
    order?: Order,
  ): Promise<Result> {
    try {
      return await read
    } catch (error) {
      const isSearch = traits.some(({ hasSearchedText }) => hasSearchedText)
      const isComposedByClient = isSearch || traits.some(({ isComposed }) => isComposed) || order?.ties !== undefined
      if (!isComposedByClient || !isStatementTimeout(error)) throw error
      throw limits.errorFor({ of: order?.ties ? 'order' : 'filter', isSearch, cause: error })
    }
  }

  /** @throws the error of the limits if statistics take longer than a statement may take */
  async function orTooManyRows<Result>(read: Promise<Result>): Promise<Result> {
    try {
      return await read
    } catch (error) {
      if (!isStatementTimeout(error)) throw error
      throw limits.errorFor({ of: 'statistics', isSearch: false, cause: error })
    }
  }

  const queueFor = (model: Model, rows: number, followed = plan) =>
    rows > maxObjects && limits.longModels.has(model) && reads.hasObjects(model, followed) ? limits.objects : atOnce

  function readList(
    model: Model,
    request: ListRequest,
    followed: ReadPlan,
    branches: readonly Branch[],
  ): Promise<Tree> {
    const read = () => reads.list(sql, model, owner, request, { plan: followed, branches, onReceived })
    const traits = [reads.traitsOf(model, request.where), ...traitsBelow(branches)]
    const queued = isLong(request.order, traits) ? limits.search : queueFor(model, request.limit, followed)
    return orTooExpensive(traits, queued(read), request.order)
  }

  const traitsOfRelation = (relation: Relation) => reads.traitsOf(relation.model, whereOfRelation(relation))

  /** The traits of the nested lists that are read together with the rows above. */
  function traitsBelow(branches: readonly Branch[]): Traits[] {
    return branches.flatMap((branch) => [traitsOfRelation(branch.relation), ...traitsBelow(branch.branches)])
  }

  function cacheOf(relation: Relation): Cache {
    const cache = caches.get(relation) ?? new Map<string, unknown>()
    caches.set(relation, cache)
    return cache
  }

  /** Primes the DataLoader of a relation with the rows that a plan has read. */
  function prime({ relation, keys, rows }: Level): void {
    const cache = cacheOf(relation)
    const valueFor = grouped(relation, rows)
    for (const key of keys) if (!cache.has(key)) cache.set(key, valueFor(key))
  }

  /** Reads a relation for keys, and the branches below. */
  async function readAll(relation: Relation, branches: readonly Branch[], keys: readonly string[]): Promise<unknown[]> {
    // No statement is sent for a key that no row can have.
    const possible = keys.filter(isPossibleId)
    if (possible.length === 0) return keys.map(grouped(relation, []))
    const read = () => reads.related(sql, relation, owner, possible, { plan, branches, onReceived })
    const traits = [traitsOfRelation(relation), ...traitsBelow(branches)]
    const queued = traits.some(({ isSearch }) => isSearch) ? limits.search : queueFor(relation.model, possible.length)
    const { rows, levels } = await orTooExpensive(traits, queued(read))
    for (const level of levels) prime(level)
    return keys.map(grouped(relation, rows))
  }

  function loaderOf(relation: Relation, branches: readonly Branch[]): DataLoader<string, unknown> {
    const ofBranches = loaders.get(branches) ?? new Map<Relation, DataLoader<string, unknown>>()
    loaders.set(branches, ofBranches)
    let loader = ofBranches.get(relation)
    if (!loader) {
      const cacheMap = branches === noBranches ? (cacheOf(relation) as Map<string, Promise<unknown>>) : new Map()
      loader = new DataLoader<string, unknown>((keys) => readAll(relation, branches, keys), { cacheMap })
      ofBranches.set(relation, loader)
    }
    return loader
  }

  /** Counts are queued, because they can read many rows. */
  async function countAll(relation: Relation, keys: readonly string[]): Promise<number[]> {
    const possible = keys.filter(isPossibleId)
    const counting = limits.search(() => reads.countRelated(sql, relation, owner, possible))
    const counts = await orTooExpensive([traitsOfRelation(relation)], counting)
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
        const cache = own === noBranches ? caches.get(relation) : undefined
        return (cache?.has(key) ? cache.get(key) : loaderOf(relation, own).load(key)) as Result | Promise<Result>
      },
      loadAll<Result>(relation: Relation<Model, Result>, keys: readonly string[]) {
        return readAll(relation, branchesOf(relation), keys) as Promise<Result[]>
      },
      restrict,
      countRelated: (relation, key) => counterOf(relation).load(key),
      async find(model, args) {
        const { plan: ownPlan, branches: ownBranches, toResults } = reads.planOf(model, args)
        return toResults(await readList(model, reads.requestOf(model, args), ownPlan, ownBranches))
      },
      requestOf: reads.requestOf,
      async list(model, request) {
        const { rows, levels } = await readList(model, request, plan, branches)
        for (const level of levels) prime(level)
        return rows as never
      },
      hasRow(model, request) {
        const traits = [reads.traitsOf(model, request.where)]
        const queued = isLong(request.order, traits) ? limits.search : atOnce
        return orTooExpensive(
          traits,
          queued(() => reads.hasRow(sql, model, owner, request)),
          request.order,
        )
      },
      count: (model, where) =>
        orTooExpensive(
          [reads.traitsOf(model, where)],
          limits.search(() => reads.count(sql, model, owner, where)),
        ),
      aggregate: (model, args) =>
        orTooExpensive(
          [reads.traitsOf(model, args.where ?? {})],
          limits.search(() => reads.aggregate(sql, model, owner, args)),
        ),
      estimate: (model, where) => limits.search(() => reads.estimate(sql, model, owner, where)),
      stats(model, where) {
        const readParts = (parts: readonly StatsPart[]) =>
          limits.search(() => reads.stats(sql, model, owner, where, parts))
        const loader = new DataLoader<StatsPart, StatsResult<StatsPart>, string>(
          (parts) => orTooManyRows(readParts(parts)),
          { cacheKeyFn: keyOf },
        )
        return (part) => loader.load(part) as Promise<never>
      },
      countBy: (model, field) => limits.search(() => reads.countBy(sql, model, owner, field)),
      follow(followed) {
        plan = followed
      },
      at(rootField) {
        const planned = plan.branchesOf(rootField)
        return planned.length > 0 ? below(planned) : own
      },
      clearAll() {
        received = 0
        for (const cache of caches.values()) cache.clear()
        for (const ofBranches of loaders.values()) for (const loader of ofBranches.values()) loader.clearAll()
      },
    }
    return own
  }
  return below(noBranches)
}

/** Whether a list may read many rows that it does not return: it searches, or sorts those that are equal by a field. */
function isLong({ ties }: Order, traits: readonly Traits[]): boolean {
  return ties !== undefined || traits.some(({ isSearch }) => isSearch)
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
