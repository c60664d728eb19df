import DataLoader from 'dataloader'
import type { Model } from '../data-model.ts'
import { isPossibleId } from '../ids.ts'
import type { Condition, ListedRow, ListRequest } from './list.ts'
import type { Reads } from './reads.ts'
import { type Branch, noPlan, type ReadPlan, type Relation } from './relation.ts'
import type { Level } from './tree.ts'

/** The reads of one request. They return rows of one tenant only. */
export interface Loaders {
  /**
   * Loads a relation. Returns a value, and no promise, if the plan has read it already. Loads of the same relation in one
   * turn of the event loop are one statement.
   */
  load<Result>(relation: Relation<Model, Result>, key: string): Result | Promise<Result>
  /** Reads rows of a list, with one statement. */
  list<M extends Model>(model: M, request: ListRequest): Promise<ListedRow<M>[]>
  /** Counts the rows that meet the conditions, with one statement. */
  count(model: Model, conditions: readonly Condition[]): Promise<number>
  /** From now on rows have the fields of the plan and the id. Until then they have all fields. */
  follow(plan: ReadPlan): void
  /** The same reads for a root field: they also read the relations that the plan has below it, with the same statement. */
  at(rootField: object): Loaders
  /** Forgets every row read so far. Called after a write. */
  clearAll(): void
}

type Rows = Record<string, unknown>

const none: readonly Branch[] = []

/** Runs a search or a count when it is its turn. */
export type InTurn = <Result>(search: () => Promise<Result>) => Promise<Result>

/** Creates the reads of one request: a DataLoader for each relation that is loaded. */
export function createLoaders(reads: Reads, tenantAppId: string, inTurn: InTurn = (search) => search()): Loaders {
  const loaders = new Map<readonly Branch[], Map<Relation, DataLoader<string, unknown>>>()
  const read = new Map<Relation, Map<string, unknown>>()
  let plan = noPlan

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
        const { rows, levels } = await reads.related(relation, tenantAppId, possible, { plan, branches })
        for (const level of levels) remember(level)
        return keys.map(grouped(relation, rows))
      })
    ofBranches.set(relation, loader)
    return loader
  }

  function below(branches: readonly Branch[]): Loaders {
    const own: Loaders = {
      load<Result>(relation: Relation<Model, Result>, key: string) {
        // The branches of a node are of several models. Without one of this model it is a load as any other.
        const own = branches.some(({ parent }) => parent === relation.model) ? branches : none
        const values = own === none ? read.get(relation) : undefined
        return (values?.has(key) ? values.get(key) : loaderOf(relation, own).load(key)) as Result | Promise<Result>
      },
      async list(model, request) {
        const read = () => reads.list(model, tenantAppId, request, { plan, branches })
        const { rows, levels } = await (isSearch(request) ? inTurn(read) : read())
        for (const level of levels) remember(level)
        return rows as never
      },
      count: (model, conditions) => inTurn(() => reads.count(model, tenantAppId, conditions)),
      follow(followed) {
        plan = followed
      },
      at(rootField) {
        const planned = plan.branchesOf(rootField)
        return planned.length > 0 ? below(planned) : own
      },
      clearAll() {
        read.clear()
        for (const ofBranches of loaders.values()) for (const loader of ofBranches.values()) loader.clearAll()
      },
    }
    return own
  }
  return below(none)
}

/** Whether a list may look at many more rows than it returns. */
function isSearch({ conditions }: ListRequest): boolean {
  return conditions.some(({ is }) => is === 'contains')
}

/** What a relation returns for a key, from the rows that were read. */
function grouped({ kind, by }: Relation, rows: readonly Rows[]): (key: string) => unknown {
  const byKey = Map.groupBy(rows, (row) => row[by] as string)
  return (key) => (kind === 'many' ? (byKey.get(key) ?? []) : (byKey.get(key)?.[0] ?? null))
}
