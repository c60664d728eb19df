import DataLoader from 'dataloader'
import type { Model } from '../data-model.ts'
import { isPossibleId } from '../ids.ts'
import type { BatchedRead } from './batch.ts'
import type { Condition, ListedRow, ListRead, ListRequest } from './list.ts'
import type { IdField, Relation, SelectedRow } from './relation.ts'

/** How rows are read from the database. */
export interface Reads {
  readonly batch: BatchedRead
  readonly list: ListRead
}

/** The reads of one request. They return rows of one tenant only. */
export interface Loaders {
  /** Loads a relation. Loads of the same relation in one turn of the event loop are one statement. */
  load<Result>(relation: Relation<Model, Result>, key: string): Promise<Result>
  /** Reads rows of a list, with one statement. */
  list<M extends Model>(model: M, request: ListRequest): Promise<ListedRow<M>[]>
  /** Counts the rows that meet the conditions, with one statement. */
  count(model: Model, conditions: readonly Condition[]): Promise<number>
  /** From now on rows have these fields and the ids. Until then they have all fields. */
  select(fields: ReadonlySet<string>): void
  /** Forgets every row read so far. Called after a write. */
  clearAll(): void
}

type Loader = DataLoader<string, unknown>

/** Creates the reads of one request: a DataLoader for each relation that is loaded. */
export function createLoaders({ batch, list }: Reads, tenantAppId: string): Loaders {
  const loaders = new Map<Relation, Loader>()
  let selected: ReadonlySet<string> | undefined

  function createLoader({ kind, model, by }: Relation): Loader {
    const idField = by as IdField<Model>
    return new DataLoader<string, unknown>(async (keys) => {
      // No statement is sent for a key that no row can have.
      const possible = keys.filter(isPossibleId)
      const rows = possible.length > 0 ? await batch(model, idField, tenantAppId, possible, selected) : []
      const byKey = Map.groupBy(rows as SelectedRow<Model>[], (row) => row[idField] as string)
      return keys.map((key) => (kind === 'many' ? (byKey.get(key) ?? []) : (byKey.get(key)?.[0] ?? null)))
    })
  }

  return {
    load<Result>(relation: Relation<Model, Result>, key: string) {
      const loader = loaders.get(relation) ?? createLoader(relation)
      loaders.set(relation, loader)
      return loader.load(key) as Promise<Result>
    },
    list: (model, request) => list.rows(model, tenantAppId, request, selected),
    count: (model, conditions) => list.count(model, tenantAppId, conditions),
    select(fields) {
      selected = fields
    },
    clearAll() {
      for (const loader of loaders.values()) loader.clearAll()
    },
  }
}
