import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core'
import type { GraphQLFieldResolver } from 'graphql'
import type { Scope } from '../auth/scopes.ts'
import type { Context } from '../context.ts'
import { GatewayError } from '../errors.ts'

declare global {
  export namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      scope: ScopePlugin<Types>
    }

    interface FieldOptions {
      /** What a key must be allowed for this field to answer. */
      scope?: Scope
    }
  }
}

const name = 'scope' as const

/**
 * Gives every field the option `scope`. A key without it gets FORBIDDEN for the field, and the resolver does not run.
 * The field's description says what it needs.
 */
class ScopePlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(field: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    const { scope } = field.pothosOptions
    return scope ? { ...field, description: `${field.description ?? ''} Needs the scope \`${scope}\`.`.trim() } : field
  }

  override wrapResolve(
    resolve: GraphQLFieldResolver<unknown, Types['Context'], object>,
    field: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> {
    const { scope } = field.pothosOptions
    if (!scope) return resolve
    return (parent, args, context, info) => {
      requireScope(context as unknown as Context, scope)
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
}

SchemaBuilder.registerPlugin(name, ScopePlugin)

/** @throws GatewayError FORBIDDEN when the viewer's key lacks the scope */
export function requireScope({ viewer }: Context, scope: Scope): void {
  if (!viewer.scopes.includes(scope)) throw new GatewayError('FORBIDDEN', `This needs the scope ${scope}.`)
}

export default name
