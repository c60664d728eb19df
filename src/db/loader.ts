import DataLoader from 'dataloader'
import type { BatchedRead } from './batch.ts'
import { isPossibleId } from './ids.ts'
import type { Condition, ListRead, ListRequest } from './list.ts'
import type { Rows } from './record.ts'

type Model = keyof Rows

/** The fields of a model that hold an id. */
type IdField<M extends Model> = keyof Rows[M] & ('id' | `${string}Id`)

/** The tenant's rows of a model, as lists. */
export interface RowList<M extends Model> {
  /** The rows of a list: one statement. */
  read(request: ListRequest): Promise<Rows[M][]>
  /** How many rows meet the conditions: one statement. */
  count(conditions: readonly Condition[]): Promise<number>
}

/** How rows are read. */
export interface Reads {
  readonly read: BatchedRead
  readonly list: ListRead
}

/** Makes the loaders of one request, all over the same tenant. */
export interface LoaderFactory {
  /** Loads the row whose `by` is the key; null when there is none. */
  one<M extends Model>(model: M, by: IdField<M>): DataLoader<string, Rows[M] | null>
  /** Loads all rows whose `by` is the key, oldest first. */
  many<M extends Model>(model: M, by: IdField<M>): DataLoader<string, Rows[M][]>
  /** Reads lists of rows. */
  list<M extends Model>(model: M): RowList<M>
  /** From here on rows hold the fields of these names and the ids, and nothing else. */
  select(names: ReadonlySet<string>): void
  clearAll(): void
}

/**
 * Every loader gathers the keys that are asked in one go and reads them with one statement.
 * A key that no row can have (`isPossibleId`) is answered without one.
 */
export function createLoaderFactory({ read, list }: Reads, tenantAppId: string): LoaderFactory {
  const loaders: { clearAll(): void }[] = []
  let selected: ReadonlySet<string> | undefined

  async function readByKey<M extends Model>(model: M, by: IdField<M>, keys: readonly string[]) {
    const possible = keys.filter(isPossibleId)
    const rows = possible.length === 0 ? [] : await read(model, by, tenantAppId, possible, selected)
    return Map.groupBy(rows, (row) => row[by] as string)
  }

  return {
    one(model, by) {
      const loader = new DataLoader(async (keys: readonly string[]) => {
        const found = await readByKey(model, by, keys)
        return keys.map((key) => found.get(key)?.[0] ?? null)
      })
      loaders.push(loader)
      return loader
    },
    many(model, by) {
      const loader = new DataLoader(async (keys: readonly string[]) => {
        const found = await readByKey(model, by, keys)
        return keys.map((key) => found.get(key) ?? [])
      })
      loaders.push(loader)
      return loader
    },
    list: (model) => ({
      read: (request) => list.rows(model, tenantAppId, request, selected),
      count: (conditions) => list.count(model, tenantAppId, conditions),
    }),
    select(names) {
      selected = names
    },
    clearAll() {
      for (const loader of loaders) loader.clearAll()
    },
  }
}
