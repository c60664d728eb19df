export { metadataOf, pointsOfScan, pointsOfShortStatement, rowsOfParent } from './field-metadata.ts'
export {
  type ConnectionArguments,
  defaultPageSize,
  readPage,
  readPageById,
  readPageRequest,
  requireShortList,
  type Side,
} from './lists/connection.ts'
export type { CursorParts, CursorReader } from './lists/cursor.ts'
export { equalTo, oneOf, withText } from './lists/filter-fields.ts'
export { keyedGroups } from './lists/groups.ts'
export { choiceArguments, costOfList, type List, readListArguments } from './lists/list.ts'
export { listArgs, listCost, listQuery } from './lists/related-list.ts'
export { nodeOf, oncePerField, plannedLoaders } from './lists/related-rows.ts'
export { countsOf, groups, numbers, rowCount, type Stats } from './lists/stats.ts'
export { errorAtEachPath, mask, maskEntries, maxErrors, withMasks } from './masked.ts'
export type { TreesOptions } from './options.ts'
export { type Dependencies, dependenciesOf, type LoggedModels } from './plan/dependencies.ts'
export { planOf } from './plan/plan-of.ts'
export { createPlanner } from './plan/planner.ts'
export { isIncluded, readSelection, type SelectedField, type Selection, type Values } from './plan/selection.ts'
export * from './register.ts'
export { type JsonObject, scalars } from './scalars.ts'
export { deprecatedFields, fieldNamed } from './text/deprecation.ts'
export { type Entities, type EntityKey, extendToSubgraph, type LoadObjects, printSubgraph } from './text/federation.ts'
export { printSortedSchema, requiresScopes, semanticNonNull } from './text/semantic-nullability.ts'
export { treesPlugin } from './trees-plugin.ts'
export type { AppTypes, TreesContext, TreesTypes } from './types.ts'
export {
  expectedUpdatedAt,
  type InputFields,
  ifUnchanged,
  inputWithId,
  type OutputFields,
} from './writes/write-field.ts'
