import { ownValue } from '@fusion-gateway/base'
import type { Model } from '@fusion-gateway/prisma-trees'
import { isObjectType, Kind, type ValueNode } from 'graphql'
import { metadataOf } from '../field-metadata.ts'
import { isRow, modelOf, type SelectedField, type Selection, type Values } from './selection.ts'

/** What the response to a query or subscription depends on. */
export interface Dependencies {
  /** The models of whose rows it may depend, whatever its variables are. */
  readonly models: ReadonlySet<Model>
  /** The fields whose values can change without a change of a row that is in the log: `Profile.syncedAt`. */
  readonly unlogged: readonly string[]
  /** The same for variables as they were sent. */
  modelsOf(variables: Values): ReadonlySet<Model>
  /** The ids of the rows that it starts from, if it reads only what belongs to them; otherwise undefined. */
  idsOf(variables: Values): readonly string[] | undefined
}

/** The arguments that compose conditions and orders, which can be about rows of any model. */
const composing: ReadonlySet<string> = new Set(['filter', 'orderBy', 'thenBy'])

/** The models of whose rows each change is in a log. */
export interface LoggedModels {
  readonly models: ReadonlySet<Model>
  /** Those of them that conditions and orders of each other's rows can be about. Without it, all. */
  readonly related?: ReadonlySet<Model>
}

/**
 * Finds what the response to a query or subscription depends on. Fields that `@skip` and `@include` leave out count
 * too.
 */
export function dependenciesOf(
  { fields, all }: Selection,
  { models: logged, related = logged }: LoggedModels,
): Dependencies {
  const models = new Set<Model>()
  // Without what filters and orders add.
  const plain = new Set<Model>()
  const composed: ValueNode[] = []
  const unlogged = new Set<string>()
  let isBelowRoots = true
  for (const { parent, field, type, node } of all) {
    const { root, relation, models: others, isUnlogged } = metadataOf(field)
    const isRoot = parent.name === 'Query' || parent.name === 'Subscription'
    // An abstract type does not say whose rows they are.
    const ofType = others ?? (isRow(type) ? [modelOf(type)] : [])
    const ofParent = isRow(parent) && isObjectType(parent) ? [modelOf(parent)] : []
    const read = [...ofType, ...ofParent, ...(root ? [root.model] : []), ...(relation ? [relation.relation.model] : [])]
    if (isUnlogged || (isRoot && !root && !others) || !read.every((model) => logged.has(model))) {
      unlogged.add(`${parent.name}.${field.name}`)
    }
    for (const model of read) {
      models.add(model)
      plain.add(model)
    }
    // A relation leads down to the rows that belong to a row by its id, and up by another field.
    if (relation && relation.from !== 'id') isBelowRoots = false
    if (!read.some((model) => related.has(model))) continue
    const values = (node.arguments ?? []).flatMap(({ name, value }) => (composing.has(name.value) ? [value] : []))
    composed.push(...values)
    if (values.length > 0 || root?.readsOthers) for (const model of related) models.add(model)
    if (root?.readsOthers) for (const model of related) plain.add(model)
  }
  const roots = isBelowRoots ? fields.map(rootIds) : [undefined]
  return {
    models,
    modelsOf: (variables) => (composed.every((value) => isNull(value, variables)) ? plain : models),
    unlogged: [...unlogged],
    idsOf(variables) {
      const ids: string[] = []
      for (const idsOf of roots) {
        const found = idsOf?.(variables)
        if (!found) return undefined
        ids.push(...found)
      }
      return ids
    },
  }
}

/** Whether an argument is null. A variable that was not sent may have a default. */
function isNull(value: ValueNode, variables: Values): boolean {
  return value.kind === Kind.NULL || (value.kind === Kind.VARIABLE && ownValue(variables, value.name.value) === null)
}

/** Returns the function that reads the ids that a field of Query starts from; undefined if it starts from all rows. */
function rootIds({ field, node }: SelectedField): ((variables: Values) => readonly string[] | undefined) | undefined {
  const { root } = metadataOf(field)
  const argument = root?.ids === undefined ? undefined : node.arguments?.find(({ name }) => name.value === root.ids)
  if (!argument) return undefined
  return (variables) => textsOf(argument.value, variables)
}

/** The texts of an argument: of an id, or of a list of ids. Undefined if they are not known, as with a default. */
function textsOf(value: ValueNode, variables: Values): readonly string[] | undefined {
  if (value.kind === Kind.VARIABLE) {
    const sent = ownValue(variables, value.name.value)
    const list = Array.isArray(sent) ? sent : [sent]
    return list.every((id) => typeof id === 'string' || typeof id === 'number') ? list.map(String) : undefined
  }
  if (value.kind === Kind.STRING || value.kind === Kind.INT) return [value.value]
  if (value.kind !== Kind.LIST) return undefined
  const lists = value.values.map((item) => textsOf(item, variables))
  return lists.some((list) => list === undefined) ? undefined : lists.flatMap((list) => list ?? [])
}
