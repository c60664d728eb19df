import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core'
import type { GraphQLFieldResolver } from 'graphql'
import type { Context } from '../../context.ts'

declare global {
  export namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      plan: PlanPlugin<Types>
    }
  }
}

const name = 'plan' as const

/** Gives the resolvers of queries the loaders that follow the plan of their field (graphql/operation/prepare/plan.ts). */
class PlanPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override wrapResolve(
    resolve: GraphQLFieldResolver<unknown, Types['Context'], object>,
    { parentType }: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> {
    if (parentType !== 'Query') return resolve
    return (parent, args, given, info) => {
      const context = given as unknown as Context
      const [node] = info.fieldNodes
      const loaders = node ? context.loaders.at(node) : context.loaders
      const planned = loaders === context.loaders ? given : ({ ...context, loaders } as unknown as typeof given)
      return resolve(parent, args, planned, info)
    }
  }
}

SchemaBuilder.registerPlugin(name, PlanPlugin)

export default name
