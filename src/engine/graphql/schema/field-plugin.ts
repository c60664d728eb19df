import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core'
import { type GraphQLFieldResolver, isNullableType } from 'graphql'
import { type FieldScope, requireScope } from '../../auth/scopes.ts'
import type { Context } from '../../context.ts'
import { deprecationReason } from './deprecation.ts'
import { type FieldMetadata, metadataKey, metadataOf } from './field-metadata.ts'
import { mask } from './masked.ts'

declare global {
  export namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      fields: FieldPlugin<Types>
    }

    interface BaseTypeOptions<Types extends SchemaTypes> {
      /** The scope for the fields of this type that do not name one. */
      scope?: FieldScope
    }

    interface FieldOptions extends FieldMetadata {}

    interface BuildSchemaOptions<Types extends SchemaTypes> {
      /** Whether each field checks the scopes of the viewer before it resolves. */
      guarded?: boolean
    }
  }
}

const name = 'fields' as const

type Resolver<Types extends SchemaTypes> = GraphQLFieldResolver<unknown, Types['Context'], object>

/**
 * Keeps the metadata of each field in the schema, where `operation/prepare` reads it, and guards the fields that need a
 * scope. In a guarded schema a viewer without the scope gets FORBIDDEN for the field, and its resolver does not run. If
 * the field is nullable, it is null in every row, each with the error (masked.ts). The description of a field names
 * its scope. All fields of Query are nullable, so that the error of one does not erase the others
 * (docs/decisions/0022-nullable-fields-of-query.md).
 *
 * Pothos' plugin scope-auth wraps each protected resolver, so it checks each row.
 */
class FieldPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(field: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    const { scope, isMasked, isSecret, cost, relation, columns, root, isUnlogged, deprecation } =
      field.pothosOptions as FieldMetadata
    if (field.deprecationReason != null) {
      throw new Error(
        `${field.parentType}.${field.name} needs dates: declare \`deprecation\` instead of \`deprecationReason\``,
      )
    }
    const ofType = this.buildCache.getTypeConfig(field.parentType).pothosOptions.scope
    const isNullable = isMasked || field.parentType === 'Query'
    const isNullByError = isNullable && !field.type.nullable
    const declared = {
      scope: scope ?? ofType,
      isMasked,
      isSecret,
      cost,
      relation,
      columns,
      root,
      isUnlogged,
      deprecation,
    }
    const metadata = { ...declared, isNullByError }
    const known = { ...field, extensions: { ...field.extensions, [metadataKey]: metadata } }
    const needed = scopeOf(known)
    return {
      ...known,
      ...(deprecation && { deprecationReason: deprecationReason(deprecation) }),
      ...(isNullable && { type: { ...field.type, nullable: true } as typeof field.type }),
      ...(needed && { description: `${field.description ?? ''} Needs the scope \`${needed}\`.`.trim() }),
    }
  }

  override wrapResolve(resolve: Resolver<Types>, field: PothosOutputFieldConfig<Types>): Resolver<Types> {
    const reads = field.parentType === 'Query' || field.parentType === 'Subscription'
    return this.guarded(reads ? withPlan(resolve) : resolve, field)
  }

  override wrapSubscribe(
    subscribe: Resolver<Types> | undefined,
    field: PothosOutputFieldConfig<Types>,
  ): Resolver<Types> | undefined {
    return subscribe && this.guarded(subscribe, field)
  }

  private guarded(resolve: Resolver<Types>, field: PothosOutputFieldConfig<Types>): Resolver<Types> {
    const scope = scopeOf(field)
    if (!this.options.guarded || !scope) return resolve
    return (parent, args, context, info) => {
      const ofRequest = context as Types['Context'] & Context
      const { viewer } = ofRequest
      if (!viewer.scopes.includes(scope) && isNullableType(info.returnType)) return mask(ofRequest, info, scope)
      requireScope(viewer, scope)
      return resolve(parent, args, context, info)
    }
  }
}

/**
 * Gives the resolver of a query or subscription the loaders that follow the plan of its field
 * (graphql/operation/prepare/plan.ts).
 */
export function withPlan<Types extends SchemaTypes>(resolve: Resolver<Types>): Resolver<Types> {
  return (parent, args, given, info) => {
    const context = given as Types['Context'] & Context
    const [node] = info.fieldNodes
    const loaders = node ? context.loaders.at(node) : context.loaders
    const planned = loaders === context.loaders ? given : { ...context, loaders }
    return resolve(parent, args, planned, info)
  }
}

function scopeOf(field: Parameters<typeof metadataOf>[0]): Exclude<FieldScope, 'inherited'> | undefined {
  const { scope } = metadataOf(field)
  return scope === 'inherited' ? undefined : scope
}

SchemaBuilder.registerPlugin(name, FieldPlugin)

export default name
