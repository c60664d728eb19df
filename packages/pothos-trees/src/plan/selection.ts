import { ownValue, type Scope } from '@fusion-gateway/base'
import type { Model } from '@fusion-gateway/prisma-trees'
import {
  type DirectiveNode,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLInterfaceType,
  type GraphQLNamedOutputType,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  isInterfaceType,
  isObjectType,
  isUnionType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql'
import { scopeOf } from '../field-metadata.ts'

/** The values of variables, by their names. */
export type Values = Readonly<Record<string, unknown>>

export interface SelectedField {
  readonly parent: GraphQLObjectType | GraphQLInterfaceType
  /** The key in the response: the alias or the name. */
  readonly key: string
  readonly node: FieldNode
  readonly field: GraphQLField<unknown, unknown>
  /** The type of the field without lists and non-null. */
  readonly type: GraphQLNamedOutputType
  readonly selections: readonly SelectedField[]
  /** The conditions of `@skip` and `@include`, of the field and of the fragments around it. */
  readonly conditions: readonly Condition[]
}

/** A field is selected if the variable has the value, or the literal is true. */
export interface Condition {
  readonly variable?: string
  readonly value: boolean
}

/**
 * The fields that a validated operation selects, with its fragments inlined. Fields that start with `__` are left out.
 */
export interface Selection {
  readonly fields: readonly SelectedField[]
  readonly all: readonly SelectedField[]
  readonly scopes: ReadonlySet<Scope>
  readonly size: number
  readonly hasDirectives: boolean
}

/**
 * Reads the selection of an operation. Everything that is known about an operation before it runs follows from it:
 * scopes, columns, cost, nodes, and whether it can be compiled.
 */
export function readSelection(
  schema: GraphQLSchema,
  { definitions }: DocumentNode,
  operation: OperationDefinitionNode,
): Selection {
  const fragments = new Map<string, FragmentDefinitionNode>()
  for (const one of definitions) if (one.kind === Kind.FRAGMENT_DEFINITION) fragments.set(one.name.value, one)
  let size = 0
  let hasDirectives =
    hasAny(operation.directives) || (operation.variableDefinitions ?? []).some(({ directives }) => hasAny(directives))

  function read(
    type: GraphQLNamedOutputType | undefined,
    { selections }: SelectionSetNode,
    around: readonly Condition[],
  ): SelectedField[] {
    return selections.flatMap((selection): SelectedField[] => {
      hasDirectives ||= hasAny(selection.directives)
      // Fields below the same fragments share their conditions.
      const added = conditionsOf(selection.directives).filter(
        (added) => !around.some(({ variable, value }) => variable === added.variable && value === added.value),
      )
      const conditions = added.length > 0 ? [...around, ...added] : around
      if (selection.kind === Kind.FIELD) return readField(type, selection, conditions)
      const { typeCondition, selectionSet } =
        selection.kind === Kind.INLINE_FRAGMENT
          ? selection
          : (fragments.get(selection.name.value) as FragmentDefinitionNode)
      const condition = typeCondition && (schema.getType(typeCondition.name.value) as GraphQLNamedOutputType)
      return read(condition ?? type, selectionSet, conditions)
    })
  }

  function readField(
    parent: GraphQLNamedOutputType | undefined,
    node: FieldNode,
    conditions: readonly Condition[],
  ): SelectedField[] {
    size += 1
    if (!isObjectType(parent) && !isInterfaceType(parent)) return []
    const field = ownValue(parent.getFields(), node.name.value)
    if (!field) return []
    const type = getNamedType(field.type)
    const selections = node.selectionSet ? read(type, node.selectionSet, none) : []
    const key = node.alias?.value ?? node.name.value
    return [{ parent, key, node, field, type, selections, conditions }]
  }

  const fields = read(schema.getRootType(operation.operation) ?? undefined, operation.selectionSet, none)
  const all = [...allFields(fields)]
  const scopes = new Set(all.flatMap(({ field }) => scopeOf(field) ?? []))
  return { fields, all, scopes, size, hasDirectives }
}

/** Whether fields with these conditions are in the response, for the values of the variables. */
export function isIncluded(conditions: readonly Condition[], values: Values): boolean {
  return conditions.every(({ variable, value }) => (variable ? ownValue(values, variable) === value : value))
}

const modelKey = 'pothosPrismaModel'

/** The model of Prisma's schema whose rows the objects of a type are. Types without one stand for themselves. */
export function modelOf({ name, extensions }: GraphQLNamedOutputType): Model {
  return (extensions[modelKey] ?? name) as Model
}

/** Whether the objects of a type are rows: those of a model, or those that the interface `Node` of Relay stands for. */
export function isRow(type: GraphQLNamedOutputType): boolean {
  if (isUnionType(type)) return type.getTypes().every(isRow)
  if (type.extensions[modelKey] !== undefined || type.name === 'Node') return true
  return isObjectType(type) && type.getInterfaces().some(({ name }) => name === 'Node')
}

function* allFields(fields: readonly SelectedField[]): Generator<SelectedField> {
  for (const field of fields) {
    yield field
    yield* allFields(field.selections)
  }
}

const none: readonly Condition[] = []

function conditionsOf(directives: readonly DirectiveNode[] = []): Condition[] {
  return directives.flatMap(({ name, arguments: [argument] = [] }): Condition[] => {
    if (name.value !== 'skip' && name.value !== 'include') return []
    const wanted = name.value === 'include'
    if (argument?.value.kind === Kind.VARIABLE) return [{ variable: argument.value.name.value, value: wanted }]
    const literal = argument?.value.kind === Kind.BOOLEAN && argument.value.value
    return [{ value: literal === wanted }]
  })
}

function hasAny(list: readonly unknown[] | undefined): boolean {
  return list !== undefined && list.length > 0
}
