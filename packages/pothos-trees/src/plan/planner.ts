import { ownValue } from '@fusion-gateway/base'
import { type Branch, type Model, noBranches, type ReadPlan, type Relation } from '@fusion-gateway/prisma-trees'
import { getArgumentValues } from 'graphql'
import { metadataOf } from '../field-metadata.ts'
import type { Context } from '../types.ts'
import { isIncluded, isRow, modelOf, type SelectedField, type Selection, type Values } from './selection.ts'

/**
 * The most relations in the plans of an operation. Other root fields are read level by level. It bounds the statements
 * of a request, their length, and what a prepared operation keeps of them.
 */
const maxBranches = 24

/** With more variables in `@skip` and `@include`, nothing is planned: each combination has its own plan. */
const maxVariables = 3

/**
 * Returns a function that plans the reads of an operation: for each model the fields, and for each root field the
 * relations that are read together with its rows.
 *
 * A plan is kept for the values of the variables that decide `@skip` and `@include`. The relations of nested lists with
 * arguments also depend on other variables and on the viewer, so they are planned for each request.
 *
 * @returns the plan for coerced variables
 */
export function createPlanner({ fields, all }: Selection): (variables: Values, context: Context) => ReadPlan {
  const variables = new Set(all.flatMap(({ conditions }) => conditions.flatMap(({ variable }) => variable ?? [])))
  const hasNestedLists = all.some(isRestricted)
  const kept = new Map<string, { readonly fieldsOf: FieldsOf; plan: ReadPlan | undefined }>()

  function planBranches(values: Values, fieldsOf: FieldsOf, context: Context): ReadPlan {
    const byField = planRootFields(fields, { values, context, fieldsOf })
    return { fieldsOf, branchesOf: (rootField) => byField.get(rootField) ?? noBranches }
  }

  return (values, context) => {
    if (variables.size > maxVariables) {
      return { fieldsOf: planFields(fields, values), branchesOf: () => noBranches }
    }
    const key = [...variables].map((name) => ownValue(values, name)).join()
    const known = kept.get(key) ?? { fieldsOf: planFields(fields, values), plan: undefined }
    kept.set(key, known)
    if (hasNestedLists) return planBranches(values, known.fieldsOf, context)
    known.plan ??= planBranches(values, known.fieldsOf, context)
    return known.plan
  }
}

interface Planning {
  readonly values: Values
  readonly context: Context
  readonly fieldsOf: FieldsOf
}

/** Whether a field can read only a part of its relation: it has arguments, or reads a part without them too. */
function isRestricted({ field, node }: SelectedField): boolean {
  const { relation } = metadataOf(field)
  return relation?.restrict !== undefined && ((node.arguments ?? []).length > 0 || !relation.canBeWhole)
}

/** The relations of a field for its arguments: most have one. None if the resolver will reject the arguments. */
function relationsOf(selected: SelectedField, { values, context }: Planning): readonly Relation[] {
  const { relation } = metadataOf(selected.field)
  const restrict = relation?.restrict
  if (!restrict || !isRestricted(selected)) return relation ? [relation.relation] : []
  try {
    return [restrict(selected.node, () => getArgumentValues(selected.field, selected.node, values), context)].flat()
  } catch {
    return []
  }
}

type FieldsOf = (model: Model) => ReadonlySet<string>

const noFields: ReadonlySet<string> = new Set()

/** The fields to read of each model: the selected ones, and the ids that relations start from. */
function planFields(fields: readonly SelectedField[], values: Values): FieldsOf {
  const byModel = new Map<Model, Set<string>>()
  function add(selected: readonly SelectedField[]): void {
    for (const { parent, field, conditions, selections } of selected) {
      if (!isIncluded(conditions, values)) continue
      const names = byModel.get(modelOf(parent)) ?? new Set<string>()
      for (const name of columnsOf(field)) names.add(name)
      byModel.set(modelOf(parent), names)
      const { relation } = metadataOf(field)
      if (relation?.fields) {
        const { model } = relation.relation
        byModel.set(model, new Set([...(byModel.get(model) ?? []), ...relation.fields]))
      }
      add(selections)
    }
  }
  add(fields)
  return (model) => byModel.get(model) ?? noFields
}

/**
 * Plans each root field, by the nodes that select it. Fields that read the same branches share them, and so share a
 * statement.
 */
function planRootFields(fields: readonly SelectedField[], planning: Planning): Map<object, readonly Branch[]> {
  const included = fields.filter(({ conditions }) => isIncluded(conditions, planning.values))
  const planned = new Map<object, readonly Branch[]>()
  const shared = new Map<string, readonly Branch[]>()
  let left = maxBranches
  for (const group of Map.groupBy(included, ({ key }) => key).values()) {
    const selections = group.flatMap((field) => field.selections)
    const branches = branchesOf(selections, planning)
    // The fields follow from the models, because all branches here are of one plan.
    const key = JSON.stringify(branches)
    if (!shared.has(key)) {
      const size = count(branches)
      if (size === 0 || size > left) continue
      left -= size
      shared.set(key, branches)
    }
    for (const { node } of group) planned.set(node, shared.get(key) ?? branches)
  }
  return planned
}

/** The relations among fields, also below connections, edges and lists. */
function branchesOf(fields: readonly SelectedField[], planning: Planning): Branch[] {
  const included = fields.filter(({ conditions }) => isIncluded(conditions, planning.values))
  const groups = Map.groupBy(included, ({ parent, field }) => `${parent.name}.${field.name}`)
  return [...groups.values()].flatMap((group): Branch[] => {
    const [first] = group
    if (!first) return []
    const { parent, field } = first
    const { relation } = metadataOf(field)
    // Another field of a row returns other rows, which a resolver reads.
    if (!relation) return isRow(parent) ? [] : branchesBelow(group, planning)
    // Selections with the same arguments read the same rows.
    const lists = new Map<Relation, SelectedField[]>()
    for (const selected of group)
      for (const of of relationsOf(selected, planning)) lists.set(of, [...(lists.get(of) ?? []), selected])
    return [...lists].map(([of, selected]) => {
      const branches = branchesBelow(selected, planning)
      const from = { parent: modelOf(parent), from: relation.from }
      return { ...from, relation: of, fields: planning.fieldsOf(of.model), branches }
    })
  })
}

function branchesBelow(fields: readonly SelectedField[], planning: Planning): Branch[] {
  return branchesOf(
    fields.flatMap(({ selections }) => selections),
    planning,
  )
}

/** The columns that a field reads: the start of its relation, those that it declares, or the one with its name. */
function columnsOf(field: SelectedField['field']): readonly string[] {
  const { columns, relation } = metadataOf(field)
  return columns ?? [relation?.from ?? field.name]
}

function count(branches: readonly Branch[]): number {
  return branches.reduce((sum, branch) => sum + 1 + count(branch.branches), 0)
}
