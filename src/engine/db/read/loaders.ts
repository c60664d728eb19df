import DataLoader from 'dataloader'
import { GatewayError } from '../../errors.ts'
import type { Model } from '../data-model.ts'
import { isPossibleId } from '../ids.ts'
import type { Condition, ListRequest } from './list.ts'
import type { Owner } from './owner.ts'
import type { Reads, ValueCount } from './reads.ts'
import { type Branch, noPlan, type ReadPlan, type Relation, type SelectedRow } from './relation.ts'
import type { Level } from './tree.ts'

/** The reads of one request. They return rows of one owner only. */
export interface Loaders {
  /**
   * Loads a relation. Returns a value, and no promise, if the plan has read it already. Loads of the same relation in one
   * turn of the event loop are one statement.
   */
  load<Result>(relation: Relation<Model, Result>, key: string): Result | Promise<Result>
  /** Reads rows of a list, with one statement. */
  list<M extends Model>(model: M, request: ListRequest): Promise<SelectedRow<M>[]>
  /** Counts the rows that meet the conditions, with one statement. */
  count(model: Model, conditions: readonly Condition[]): Promise<number>
  /** Counts the rows for each value of a field, with one statement. */
  countBy(model: Model, field: string): Promise<readonly ValueCount[]>
  /** Makes later reads return only the id and the fields of the plan. Before this call, rows have all fields. */
  follow(plan: ReadPlan): void
  /** The same reads for a root field. They also read the relations that the plan has below the field, with the same statement. */
  at(rootField: object): Loaders
  /** Forgets every row read so far. Called after a write. */
  clearAll(): void
}

const none: readonly Branch[] = []

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

  function loaderOf(relation: Relation, branches: readonly Branch[]): DataLoader<string, unknown> {
    const ofBranches = loaders.get(branches) ?? new Map<Relation, DataLoader<string, unknown>>()
    loaders.set(branches, ofBranches)
    const loader =
      ofBranches.get(relation) ??
      new DataLoader<string, unknown>(async (keys) => {
        // No statement is sent for a key that no row can have.
        const possible = keys.filter(isPossibleId)
        if (possible.length === 0) return keys.map(grouped(relation, []))
        const read = () => reads.related(relation, owner, possible, { plan, branches, onReceived })
        const { rows, levels } = await queueFor(relation.model, possible.length)(read)
        for (const level of levels) remember(level)
        return keys.map(grouped(relation, rows))
      })
    ofBranches.set(relation, loader)
    return loader
  }

  function below(branches: readonly Branch[]): Loaders {
    const own: Loaders = {
      load<Result>(relation: Relation<Model, Result>, key: string) {
        // A node can have branches of several models. If none is of this model, the load has no branches.
        const own = branches.some(({ parent }) => parent === relation.model) ? branches : none
        const values = own === none ? read.get(relation) : undefined
        return (values?.has(key) ? values.get(key) : loaderOf(relation, own).load(key)) as Result | Promise<Result>
      },
      async list(model, request) {
        const read = () => reads.list(model, owner, request, { plan, branches, onReceived })
        const queued = isSearch(request) ? limits.search : queueFor(model, request.limit)
        const { rows, levels } = await queued(read)
        for (const level of levels) remember(level)
        return rows as never
      },
      count: (model, conditions) => limits.search(() => reads.count(model, owner, conditions)),
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
  return below(none)
}

/** Whether a list may read many more rows than it returns. */
function isSearch({ conditions }: ListRequest): boolean {
  return conditions.some(({ is }) => is === 'contains' || is === 'referred to')
}

/** What a relation returns for a key, from the rows that were read. */
function grouped({ kind, by }: Relation, rows: readonly Record<string, unknown>[]): (key: string) => unknown {
  const byKey = Map.groupBy(rows, (row) => row[by] as string)
  return (key) => (kind === 'many' ? (byKey.get(key) ?? []) : (byKey.get(key)?.[0] ?? null))
}
