import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core'
import type { GraphQLFieldResolver } from 'graphql'
import type { FieldScope } from '../auth/scopes.ts'
import type { Context } from '../context.ts'
import { requireScope } from './require-scope.ts'

declare global {
  export namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      scope: ScopePlugin<Types>
    }

    interface BuildSchemaOptions<Types extends SchemaTypes> {
      /** Whether each field looks at the scopes of the key before it answers. */
      guarded?: boolean
    }

    interface BaseTypeOptions<Types extends SchemaTypes> {
      /** What a key needs for the fields of this type that do not say so themselves. */
      scope?: FieldScope
    }

    interface FieldOptions {
      /** What a key needs for this field to answer. */
      scope?: FieldScope
    }
  }
}

const name = 'scope' as const

/**
 * Gives every type and every field the option `scope`. Where the schema is guarded, a key without it gets FORBIDDEN for
 * the field, and the resolver does not run. The field's description says what it needs.
 */
class ScopePlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(field: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    const scope = this.scopeOf(field)
    if (!scope) return field
    const extensions = { ...field.extensions, scope }
    if (scope === 'inherited') return { ...field, extensions }
    return {
      ...field,
      extensions,
      description: `${field.description ?? ''} Needs the scope \`${scope}\`.`.trim(),
    }
  }

  override wrapResolve(
    resolve: GraphQLFieldResolver<unknown, Types['Context'], object>,
    field: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> {
    const scope = this.scopeOf(field)
    if (!this.options.guarded || !scope || scope === 'inherited') return resolve
    return (parent, args, context, info) => {
      requireScope((context as unknown as Context).viewer, scope)
      return resolve(parent, args, context, info)
    }
  }

  /** A key without the scope is refused before anything is followed. */
  override wrapSubscribe(
    subscribe: GraphQLFieldResolver<unknown, Types['Context'], object> | undefined,
    field: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> | undefined {
    return subscribe && this.wrapResolve(subscribe, field)
  }

  private scopeOf({ pothosOptions, parentType }: PothosOutputFieldConfig<Types>): FieldScope | undefined {
    return pothosOptions.scope ?? this.buildCache.getTypeConfig(parentType).pothosOptions.scope
  }
}

SchemaBuilder.registerPlugin(name, ScopePlugin)

export default name
