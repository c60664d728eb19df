import type { Model } from '../../../db/data-model.ts'
import { type Branch, noBranches, type ReadPlan } from '../../../db/read/relation.ts'
import { own } from '../../../own.ts'
import { metadataOf } from '../../schema/field-metadata.ts'
import type { Values } from './coerce-variables.ts'
import { isNode } from './cost.ts'
import { allFields, type Condition, type SelectedField, type Selection } from './selection.ts'

/**
 * The most relations in the plans of an operation. Other root fields are read level by level. It bounds the statements
 * of a request, their length, and what a prepared operation keeps of them.
 */
const maxBranches = 24

/**
 * With more variables than this in `@skip` and `@include`, nothing is planned, because each combination has its own
 * plan.
 */
const maxVariables = 3

/**
 * Returns a function that plans the reads of an operation: for each model the fields, and for each root field the
 * relations that are read together with its rows.
 *
 * @returns the plan for coerced variables, which decide `@skip` and `@include`
 */
export function createPlanner({ fields }: Selection): (variables: Values) => ReadPlan {
  const variables = new Set<string>()
  for (const { conditions } of allFields(fields)) {
    for (const { variable } of conditions) if (variable !== undefined) variables.add(variable)
  }
  const plans = new Map<string, ReadPlan>()

  function plan(values: Values): ReadPlan {
    const fieldsOf = planFields(fields, values)
    const byField = planRootFields(fields, values, fieldsOf)
    return { fieldsOf, branchesOf: (rootField) => byField.get(rootField) ?? noBranches }
  }

  return (values) => {
    if (variables.size > maxVariables) {
      return { fieldsOf: planFields(fields, values), branchesOf: () => noBranches }
    }
    const key = [...variables].map((name) => own(values, name)).join()
    const known = plans.get(key)
    if (known) return known
    const planned = plan(values)
    plans.set(key, planned)
    return planned
  }
}

type FieldsOf = (model: Model) => ReadonlySet<string>

const noFields: ReadonlySet<string> = new Set()

/** The fields to read of each model: the selected ones, and the ids that relations start from. */
function planFields(fields: readonly SelectedField[], values: Values): FieldsOf {
  const byModel = new Map<string, Set<string>>()
  function add(selected: readonly SelectedField[]): void {
    for (const { parent, field, conditions, selections } of selected) {
      if (!isIncluded(conditions, values)) continue
      const names = byModel.get(parent.name) ?? new Set<string>()
      for (const name of columnsOf(field)) names.add(name)
      byModel.set(parent.name, names)
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
function planRootFields(
  fields: readonly SelectedField[],
  values: Values,
  fieldsOf: FieldsOf,
): Map<object, readonly Branch[]> {
  const included = fields.filter(({ conditions }) => isIncluded(conditions, values))
  const planned = new Map<object, readonly Branch[]>()
  const shared = new Map<string, readonly Branch[]>()
  let left = maxBranches
  for (const group of Map.groupBy(included, ({ key }) => key).values()) {
    const selections = group.flatMap((field) => field.selections)
    const branches = branchesOf(selections, values, fieldsOf)
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
function branchesOf(fields: readonly SelectedField[], values: Values, fieldsOf: FieldsOf): Branch[] {
  const included = fields.filter(({ conditions }) => isIncluded(conditions, values))
  const groups = Map.groupBy(included, ({ parent, field }) => `${parent.name}.${field.name}`)
  return [...groups.values()].flatMap((group) => {
    const selections = group.flatMap((field) => field.selections)
    const [first] = group
    if (!first) return []
    const { parent, field } = first
    const { relation } = metadataOf(field)
    if (relation) {
      const branches = branchesOf(selections, values, fieldsOf)
      return [{ parent: parent.name as Model, ...relation, fields: fieldsOf(relation.relation.model), branches }]
    }
    // Another field of a row returns other rows, which a resolver reads.
    return isNode(parent) ? [] : branchesOf(selections, values, fieldsOf)
  })
}

/** The columns that a field reads: the start of its relation, those that it declares, or the one with its name. */
function columnsOf(field: SelectedField['field']): readonly string[] {
  const { columns, relation } = metadataOf(field)
  return columns ?? [relation?.from ?? field.name]
}

function isIncluded(conditions: readonly Condition[], values: Values): boolean {
  return conditions.every(({ variable, is }) => (variable === undefined ? is : own(values, variable) === is))
}

function count(branches: readonly Branch[]): number {
  return branches.reduce((sum, branch) => sum + 1 + count(branch.branches), 0)
}
