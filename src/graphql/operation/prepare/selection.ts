import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLNamedOutputType,
  type GraphQLSchema,
  getNamedType,
  isInterfaceType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql'

/** A field that an operation selects. */
export interface SelectedField {
  /** The key in the answer: the alias or the name. */
  readonly key: string
  readonly node: FieldNode
  readonly field: GraphQLField<unknown, unknown>
  /** The type of the field without lists and non-null. */
  readonly type: GraphQLNamedOutputType
  readonly selections: readonly SelectedField[]
}

/** What a validated operation selects, with its fragments inlined. Fields that start with `__` are left out. */
export interface Selection {
  readonly fields: readonly SelectedField[]
  /** The number of fields, at all depths. */
  readonly size: number
  readonly hasDirectives: boolean
}

/**
 * Reads the selection of an operation. Everything that is known about an operation before it runs follows from it: scopes,
 * columns, price, nodes, and whether it can be compiled.
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

  function read(type: GraphQLNamedOutputType | undefined, { selections }: SelectionSetNode): SelectedField[] {
    return selections.flatMap((selection): SelectedField[] => {
      hasDirectives ||= hasAny(selection.directives)
      if (selection.kind === Kind.FIELD) return readField(type, selection)
      const { typeCondition, selectionSet } =
        selection.kind === Kind.INLINE_FRAGMENT
          ? selection
          : (fragments.get(selection.name.value) as FragmentDefinitionNode)
      const condition = typeCondition && (schema.getType(typeCondition.name.value) as GraphQLNamedOutputType)
      return read(condition ?? type, selectionSet)
    })
  }

  function readField(parent: GraphQLNamedOutputType | undefined, node: FieldNode): SelectedField[] {
    size += 1
    const field = isObjectType(parent) || isInterfaceType(parent) ? parent.getFields()[node.name.value] : undefined
    if (!field) return []
    const type = getNamedType(field.type)
    const selections = node.selectionSet ? read(type, node.selectionSet) : []
    return [{ key: node.alias?.value ?? node.name.value, node, field, type, selections }]
  }

  const fields = read(schema.getRootType(operation.operation) ?? undefined, operation.selectionSet)
  return { fields, size, hasDirectives }
}

/** Every selected field, at all depths. */
export function* allFields(fields: readonly SelectedField[]): Generator<SelectedField> {
  for (const field of fields) {
    yield field
    yield* allFields(field.selections)
  }
}

function hasAny(list: readonly unknown[] | undefined): boolean {
  return list !== undefined && list.length > 0
}
