export {
  type AnyModel,
  type Column,
  createDataModel,
  type DataModel,
  type GeneratedTables,
  type Model,
  type Row,
} from './data-model.ts'
export { selectColumns } from './read/columns.ts'
export { createLoaders, type Excess, type Loaders, type ReadLimits } from './read/loaders.ts'
export type { RelatedRows } from './read/nested-list.ts'
export {
  byTime,
  type Direction,
  newestFirst,
  type Order,
  type OrderBy,
  oldestFirst,
  orderOf,
  type SortDirection,
} from './read/order.ts'
export { createOwnerships } from './read/owner.ts'
export {
  type IdWindow,
  type ListRequest,
  maxPageSize,
  type PageRequest,
  type Position,
  windowBeyond,
  windowOf,
} from './read/page.ts'
export { createReads, type Reads } from './read/reads.ts'
export {
  asParent,
  type Branch,
  many,
  noBranches,
  noPlan,
  one,
  type ReadPlan,
  type Relation,
  relationTo,
  type SelectedRow,
} from './read/relation.ts'
export type { Distribution, GroupKey, GroupNumber, Numbers, RowGroup, StatsPart } from './read/stats.ts'
export { createClause, unmet, type Where } from './read/where.ts'
export * from './register.ts'
export { plannedField, trees, type ViewerClient, type ViewerRows } from './trees.ts'
export { type InsertedRow, insertRows } from './write/insert.ts'
export { deleteEach, updateEach } from './write/owned-rows.ts'
export {
  type Arity,
  arityOf,
  type Change,
  changeColumns,
  changedValue,
  changeValues,
  expectedColumn,
  type GivenValue,
  givenParameters,
  givenValue,
  isAsExpected,
  isChangedBy,
  timeOfChange,
  unnestRows,
} from './write/unnest.ts'
