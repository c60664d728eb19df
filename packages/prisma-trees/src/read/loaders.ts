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
  /** Reads parts of the statistics of the selected rows: those of one turn of the event loop at once. */
  stats(model: Model, where: object): <Part extends StatsPart>(part: Part) => Promise<StatsResult<Part>>
  /** Counts the rows for each value of a field, with one statement. */
  countBy(model: Model, field: string): Promise<readonly ValueCount[]>
  /** Makes later reads return only the id and the fields of the plan. Before this call, rows have all fields. */
  follow(plan: ReadPlan): void
  /** The reads of a root field, with the relations that the plan has below it. */
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

export interface ReadLimits {
  /** Queues searches and counts. By default they start at once, like those below. */
  readonly search: Queued
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

/** What a DataLoader remembers, by key: promises of loads, and values of plans, which need none. */
type Cache = Map<string, unknown>

/** Creates the reads of one request: a DataLoader for each relation that is loaded. */
export function createLoaders(sql: Sql, reads: Reads, owner: Owner, limits: Partial<ReadLimits> = {}): Loaders {
  return new LoadersBelow(new RequestReads(sql, reads, owner, { ...noLimits, ...limits }), noBranches)
}

/** What a request reads, and what it has read. Requests are many, so it is one object, and its maps are made late. */
class RequestReads {
  readonly reads: Reads
  readonly limits: ReadLimits
  plan = noPlan
  private readonly sql: Sql
  private readonly owner: Owner
  private readonly loaders = new Map<readonly Branch[], Map<Relation, DataLoader<string, unknown>>>()
  private counters: Map<Relation, DataLoader<string, number>> | undefined
  /** The caches of the DataLoaders that read no branches. */
  private readonly caches = new Map<Relation, Cache>()
  private restrictTo: Loaders['restrict'] | undefined
  private received = 0

  constructor(sql: Sql, reads: Reads, owner: Owner, limits: ReadLimits) {
    this.sql = sql
    this.reads = reads
    this.owner = owner
    this.limits = limits
  }

  get restrict(): Loaders['restrict'] {
    this.restrictTo ??= createNestedLists()
    return this.restrictTo
  }

  send<Result>(read: (reads: Reads, sql: Sql, owner: Owner) => Promise<Result>): Promise<Result> {
    return read(this.reads, this.sql, this.owner)
  }

  /** The same after the searches and counts that wait before it, because it can read many rows. */
  search<Result>(read: (reads: Reads, sql: Sql, owner: Owner) => Promise<Result>): Promise<Result> {
    return this.limits.search(() => this.send(read))
  }

  /** @throws the error of the limits, before the rows are decoded, which takes several times their length */
  private readonly onReceived = (length: number): void => {
    this.received += length
    if (this.received > this.limits.maxLength) throw this.limits.errorFor({ of: 'length', isSearch: false })
  }

  /**
   * @param order of a list
   * @throws the error of the limits if the conditions and orders that the client composed take longer than a statement
   *   may take
   */
  async orTooExpensive<Result>(traits: readonly Traits[], read: Promise<Result>, order?: Order): Promise<Result> {
    try {
      return await read
    } catch (error) {
      const isSearch = traits.some(({ hasSearchedText }) => hasSearchedText)
      const isComposedByClient = isSearch || traits.some(({ isComposed }) => isComposed) || order?.ties !== undefined
      if (!isComposedByClient || !isStatementTimeout(error)) throw error
      throw this.limits.errorFor({ of: order?.ties ? 'order' : 'filter', isSearch, cause: error })
    }
  }

  /** @throws the error of the limits if statistics take longer than a statement may take */
  async orTooManyRows<Result>(read: Promise<Result>): Promise<Result> {
    try {
      return await read
    } catch (error) {
      if (!isStatementTimeout(error)) throw error
      throw this.limits.errorFor({ of: 'statistics', isSearch: false, cause: error })
    }
  }

  private queueFor(model: Model, rows: number, followed = this.plan): Queued {
    const { longModels, objects } = this.limits
    return rows > maxObjects && longModels.has(model) && this.reads.hasObjects(model, followed) ? objects : atOnce
  }

  readList(model: Model, request: ListRequest, followed: ReadPlan, branches: readonly Branch[]): Promise<Tree> {
    const { onReceived } = this
    const options = { plan: followed, branches, onReceived }
    const read = () => this.send((reads, sql, owner) => reads.list(sql, model, owner, request, options))
    const traits = [this.reads.traitsOf(model, request.where), ...this.traitsBelow(branches)]
    const isSearched = isLong(request.order, traits)
    const queued = isSearched ? this.limits.search : this.queueFor(model, request.limit, followed)
    return this.orTooExpensive(traits, queued(read), request.order)
  }

  private traitsOfRelation(relation: Relation): Traits {
    return this.reads.traitsOf(relation.model, whereOfRelation(relation))
  }

  /** The traits of the nested lists that are read together with the rows above. */
  private traitsBelow(branches: readonly Branch[]): Traits[] {
    return branches.flatMap((branch) => [this.traitsOfRelation(branch.relation), ...this.traitsBelow(branch.branches)])
  }

  private cacheOf(relation: Relation): Cache {
    const cache = this.caches.get(relation) ?? new Map<string, unknown>()
    this.caches.set(relation, cache)
    return cache
  }

  prime({ relation, keys, rows }: Level): void {
    const cache = this.cacheOf(relation)
    const valueFor = grouped(relation, rows)
    for (const key of keys) if (!cache.has(key)) cache.set(key, valueFor(key))
  }

  async readAll(relation: Relation, branches: readonly Branch[], keys: readonly string[]): Promise<unknown[]> {
    // No statement is sent for a key that no row can have.
    const possible = keys.filter(isPossibleId)
    if (possible.length === 0) return keys.map(grouped(relation, []))
    const options = { plan: this.plan, branches, onReceived: this.onReceived }
    const read = () => this.send((reads, sql, owner) => reads.related(sql, relation, owner, possible, options))
    const traits = [this.traitsOfRelation(relation), ...this.traitsBelow(branches)]
    const isSearched = traits.some(({ isSearch }) => isSearch)
    const queued = isSearched ? this.limits.search : this.queueFor(relation.model, possible.length)
    const { rows, levels } = await this.orTooExpensive(traits, queued(read))
    for (const level of levels) this.prime(level)
    return keys.map(grouped(relation, rows))
  }

  /** Loads a relation. Returns a value, and no promise, if the plan has read it already. */
  load(relation: Relation, branches: readonly Branch[], key: string): unknown {
    const cache = branches === noBranches ? this.caches.get(relation) : undefined
    return cache?.has(key) ? cache.get(key) : this.loaderOf(relation, branches).load(key)
  }

  private loaderOf(relation: Relation, branches: readonly Branch[]): DataLoader<string, unknown> {
    const ofBranches = this.loaders.get(branches) ?? new Map<Relation, DataLoader<string, unknown>>()
    this.loaders.set(branches, ofBranches)
    let loader = ofBranches.get(relation)
    if (!loader) {
      const cacheMap = branches === noBranches ? (this.cacheOf(relation) as Map<string, Promise<unknown>>) : new Map()
      loader = new DataLoader<string, unknown>((keys) => this.readAll(relation, branches, keys), { cacheMap })
      ofBranches.set(relation, loader)
    }
    return loader
  }

  private async countAll(relation: Relation, keys: readonly string[]): Promise<number[]> {
    const possible = keys.filter(isPossibleId)
    const counting = this.search((reads, sql, owner) => reads.countRelated(sql, relation, owner, possible))
    const counts = await this.orTooExpensive([this.traitsOfRelation(relation)], counting)
    return keys.map((key) => counts.get(key) ?? 0)
  }

  counterOf(relation: Relation): DataLoader<string, number> {
    this.counters ??= new Map()
    const counter =
      this.counters.get(relation) ??
      new DataLoader<string, number>((keys) => this.countAll(relation, keys), { cache: false })
    this.counters.set(relation, counter)
    return counter
  }

  clearAll(): void {
    this.received = 0
    for (const cache of this.caches.values()) cache.clear()
    for (const ofBranches of this.loaders.values()) for (const loader of ofBranches.values()) loader.clearAll()
  }
}

/** The reads of a request below a root field, which are planned. */
class LoadersBelow implements Loaders {
  private readonly request: RequestReads
  private readonly branches: readonly Branch[]

  constructor(request: RequestReads, branches: readonly Branch[]) {
    this.request = request
    this.branches = branches
  }

  /** A node can have branches of several models. If none is of the relation's model, the load has no branches. */
  private branchesOf({ model }: Relation): readonly Branch[] {
    return this.branches.some(({ parent }) => parent === model) ? this.branches : noBranches
  }

  load<Result>(relation: Relation<Model, Result>, key: string) {
    return this.request.load(relation, this.branchesOf(relation), key) as Result | Promise<Result>
  }

  loadAll<Result>(relation: Relation<Model, Result>, keys: readonly string[]) {
    return this.request.readAll(relation, this.branchesOf(relation), keys) as Promise<Result[]>
  }

  restrict<Result>(relation: Relation<Model, Result>, rows: RelatedRows) {
    return this.request.restrict(relation, rows)
  }

  countRelated(relation: Relation, key: string) {
    return this.request.counterOf(relation).load(key)
  }

  async find(model: Model, args: ReadArguments) {
    const { request } = this
    const { plan, branches, toResults } = request.reads.planOf(model, args)
    return toResults(await request.readList(model, this.requestOf(model, args), plan, branches))
  }

  requestOf(model: Model, args: ReadArguments) {
    return this.request.reads.requestOf(model, args)
  }

  async list<M extends Model>(model: M, listed: ListRequest): Promise<SelectedRow<M>[]> {
    const { request, branches } = this
    const { rows, levels } = await request.readList(model, listed, request.plan, branches)
    for (const level of levels) request.prime(level)
    return rows as never
  }

  hasRow(model: Model, listed: ListRequest) {
    const { request } = this
    const traits = [request.reads.traitsOf(model, listed.where)]
    const queued = isLong(listed.order, traits) ? request.limits.search : atOnce
    const read = () => request.send((reads, sql, owner) => reads.hasRow(sql, model, owner, listed))
    return request.orTooExpensive(traits, queued(read), listed.order)
  }

  count(model: Model, where: object) {
    const { request } = this
    const counting = request.search((reads, sql, owner) => reads.count(sql, model, owner, where))
    return request.orTooExpensive([request.reads.traitsOf(model, where)], counting)
  }

  aggregate(model: Model, args: AggregateArguments) {
    const { request } = this
    const aggregating = request.search((reads, sql, owner) => reads.aggregate(sql, model, owner, args))
    return request.orTooExpensive([request.reads.traitsOf(model, args.where ?? {})], aggregating)
  }

  estimate(model: Model, where: object) {
    return this.request.search((reads, sql, owner) => reads.estimate(sql, model, owner, where))
  }

  stats(model: Model, where: object): ReturnType<Loaders['stats']> {
    const { request } = this
    const readParts = (parts: readonly StatsPart[]) =>
      request.search((reads, sql, owner) => reads.stats(sql, model, owner, where, parts))
    const loader = new DataLoader<StatsPart, StatsResult<StatsPart>, string>(
      (parts) => request.orTooManyRows(readParts(parts)),
      { cacheKeyFn: keyOf },
    )
    return (part) => loader.load(part) as Promise<never>
  }

  countBy(model: Model, field: string) {
    return this.request.search((reads, sql, owner) => reads.countBy(sql, model, owner, field))
  }

  follow(plan: ReadPlan) {
    this.request.plan = plan
  }

  at(rootField: object): Loaders {
    const planned = this.request.plan.branchesOf(rootField)
    return planned.length > 0 ? new LoadersBelow(this.request, planned) : this
  }

  clearAll() {
    this.request.clearAll()
  }
}

/** Whether a list may read many rows that it does not return: it searches, or sorts those that are equal by a field. */
function isLong({ ties }: Order, traits: readonly Traits[]): boolean {
  return ties !== undefined || traits.some(({ isSearch }) => isSearch)
}

function grouped({ kind, by }: Relation, rows: readonly Record<string, unknown>[]): (key: string) => unknown {
  if (kind === 'one') {
    const byKey = new Map<unknown, unknown>()
    for (const row of rows) byKey.set(row[by], row)
    return (key) => byKey.get(key) ?? null
  }
  const byKey = Map.groupBy(rows, (row) => row[by])
  return (key) => byKey.get(key) ?? []
}
