export {
  type ConnectionArguments,
  defaultPageSize,
  readPage,
  readPageById,
  readPageRequest,
  requireShortList,
  type Side,
} from './connection.ts'
export type { CursorFormat, CursorParts } from './cursor.ts'
export { deprecatedFields, fieldNamed } from './deprecation.ts'
export { type Entities, type EntityKey, extendToSubgraph, type LoadObjects, printSubgraph } from './federation.ts'
export { metadataOf, pointsOfScan, pointsOfShortStatement, rowsOfParent } from './field-metadata.ts'
export { withText } from './filter-fields.ts'
export { choiceArguments, costOfList, type List, readListArguments } from './list.ts'
export { errorAtEachPath, mask, maskEntries, maxErrors, withMasks } from './masked.ts'
export type { TreesOptions } from './options.ts'
export { type Dependencies, dependenciesOf } from './plan/dependencies.ts'
export { planOf } from './plan/plan-of.ts'
export { createPlanner } from './plan/planner.ts'
export {
  allFields,
  conditionsOf,
  isIncluded,
  readSelection,
  type SelectedField,
  type Selection,
  type Values,
} from './plan/selection.ts'
export * from './register.ts'
export { listArgs, listCost, listQuery } from './related-list.ts'
export { plannedLoaders } from './related-rows.ts'
export { type JsonObject, scalars } from './scalars.ts'
export { printSortedSchema, requiresScopes, semanticNonNull } from './semantic-nullability.ts'
export { countsOf, groups, numbers, rowCount, type Stats } from './stats.ts'
export { treesPlugin } from './trees-plugin.ts'
export type { AppTypes, TreesContext, TreesTypes } from './types.ts'
export { expectedUpdatedAt, type InputFields, ifUnchanged, inputWithId, type OutputFields } from './write-field.ts'
