import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core'
import { type GraphQLFieldResolver, type GraphQLResolveInfo, isNullableType } from 'graphql'
import { type FieldScope, requireScope } from '../../auth/scopes.ts'
import type { Context } from '../../context.ts'
import { metadataOf } from './field-metadata.ts'

declare global {
  export namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      scope: ScopePlugin<Types>
    }

    interface BuildSchemaOptions<Types extends SchemaTypes> {
      /** Whether each field checks the scopes of the viewer before it resolves. */
      guarded?: boolean
    }
  }
}

const name = 'scope' as const

/**
 * Guards the fields that need a scope. In a guarded schema a viewer without the scope gets FORBIDDEN for the field,
 * and its resolver does not run. A nullable field is null for each row then, with one error. The description of a field names its scope
 * (docs/decisions/0006-scopes-by-our-own-plugin.md).
 */
class ScopePlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(field: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    const scope = scopeOf(field)
    if (!scope) return field
    return {
      ...field,
      ...(metadataOf(field).isWithheld && { type: { ...field.type, nullable: true } as typeof field.type }),
      description: `${field.description ?? ''} Needs the scope \`${scope}\`.`.trim(),
    }
  }

  override wrapResolve(
    resolve: GraphQLFieldResolver<unknown, Types['Context'], object>,
    field: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> {
    const scope = scopeOf(field)
    if (!this.options.guarded || !scope) return resolve
    return (parent, args, context, info) => {
      const { viewer } = context as unknown as Context
      const isAllowed = viewer.scopes.includes(scope)
      if (!isAllowed && isNullableType(info.returnType) && isReported(info)) return null
      requireScope(viewer, scope)
      return resolve(parent, args, context, info)
    }
  }

  override wrapSubscribe(
    subscribe: GraphQLFieldResolver<unknown, Types['Context'], object> | undefined,
    field: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> | undefined {
    return subscribe && this.wrapResolve(subscribe, field)
  }
}

/** The scope that a viewer needs besides access to the object. */
function scopeOf(field: Parameters<typeof metadataOf>[0]): Exclude<FieldScope, 'inherited'> | undefined {
  const { scope } = metadataOf(field)
  return scope === 'inherited' ? undefined : scope
}

/** The fields whose error was reported, by execution. The object of variables identifies the execution. */
const reported = new WeakMap<object, Set<object | undefined>>()

/** Whether the error of a field was reported in this execution. From now on it counts as reported. */
function isReported({ variableValues, fieldNodes }: GraphQLResolveInfo): boolean {
  const [field] = fieldNodes
  const fields = reported.get(variableValues) ?? new Set()
  reported.set(variableValues, fields)
  const wasReported = fields.has(field)
  fields.add(field)
  return wasReported
}

SchemaBuilder.registerPlugin(name, ScopePlugin)

export default name
