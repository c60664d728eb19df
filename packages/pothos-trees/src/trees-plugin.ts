import './writes/bulk-write-field.ts'
import './lists/filter.ts'
import './lists/list.ts'
import './lists/order.ts'
import './lists/related-list.ts'
import './lists/stats.ts'
import { type FieldScope, requireScope } from '@fusion-gateway/base'
import type { Model } from '@fusion-gateway/prisma-trees'
import { plannedField } from '@fusion-gateway/prisma-trees'
import SchemaBuilder, {
  BasePlugin,
  type BuildCache,
  type PothosOutputFieldConfig,
  type PothosTypeConfig,
  RootFieldBuilder,
  type SchemaTypes,
} from '@pothos/core'
import { type GraphQLFieldResolver, isNullableType } from 'graphql'
import { type FieldMetadata, metadataKey, metadataOf, scopeOf } from './field-metadata.ts'
import { nodeOf, relatedRows } from './lists/related-rows.ts'
import { mask } from './masked.ts'
import { dataModelOf, type TreesOptions } from './options.ts'
import { deprecationReason } from './text/deprecation.ts'
import type { Context } from './types.ts'
import { type Payload, whenNull } from './writes/write-field.ts'

declare global {
  export namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      trees: TreesPlugin<Types>
    }

    interface BaseTypeOptions<Types extends SchemaTypes> {
      /** The scope for the fields of this type that do not name one. */
      scope?: FieldScope
    }

    interface FieldOptions extends FieldMetadata {}

    interface SchemaBuilderOptions<Types extends SchemaTypes> {
      trees: TreesOptions
    }

    interface BuildSchemaOptions<Types extends SchemaTypes> {
      /**
       * Whether each field checks the scopes of the viewer before it resolves, which is so by default. Without the
       * checks the schema is only for viewers who have all scopes of their operations.
       */
      guarded?: boolean
    }
  }
}

export const treesPlugin = 'trees'

type Resolver<Types extends SchemaTypes> = GraphQLFieldResolver<unknown, Types['Context'], object>

/**
 * Keeps the metadata of each field in the schema, where the planner reads it, and guards the fields that need a scope.
 * A viewer without the scope gets FORBIDDEN for the field, and its resolver does not run. If the field is nullable, it
 * is null in every row, each with the error (masked.ts). The description of a field names its scope.
 *
 * Pothos' plugin scope-auth wraps each protected resolver, so it checks each row.
 */
class TreesPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  constructor(cache: BuildCache<Types>) {
    super(cache, treesPlugin)
    const plugins: readonly string[] = this.builder.options.plugins ?? []
    if (plugins.includes('prisma') && plugins.indexOf('prisma') < plugins.indexOf(treesPlugin))
      throw new Error('The plugin of Prisma follows this one: [treesPlugin, PrismaPlugin]')
  }

  override onOutputFieldConfig(field: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    const {
      scope,
      isMasked,
      isSecret,
      cost,
      columns,
      root,
      models,
      isUnlogged,
      isLive,
      deprecation,
      current,
      ...options
    } = field.pothosOptions as FieldMetadata
    const relation = options.relation ?? this.relationOf(field)
    const { hasDatedDeprecations, hasNullableQuery } = this.builder.options.trees
    if (hasDatedDeprecations && field.deprecationReason != null) {
      throw new Error(
        `${field.parentType}.${field.name} needs dates: declare \`deprecation\` instead of \`deprecationReason\``,
      )
    }
    const { scope: ofType } = this.optionsOfParent(field)
    const isResult = this.isResult(field)
    const isNullable = isMasked || isResult || (hasNullableQuery && field.parentType === 'Query')
    const isNullByError = isNullable && !isResult && !field.type.nullable
    const declared = {
      scope: scope ?? ofType,
      isMasked,
      isSecret,
      cost,
      relation,
      columns,
      root,
      models,
      isUnlogged,
      isLive,
      deprecation,
      current,
    }
    const metadata = { ...declared, isNullByError }
    const known = { ...field, extensions: { ...field.extensions, [metadataKey]: metadata } }
    const needed = scopeOf(known)
    return {
      ...known,
      ...(deprecation && { deprecationReason: deprecationReason(deprecation) }),
      ...(isNullable && { type: { ...field.type, nullable: true } as typeof field.type }),
      description:
        [field.description, isResult && whenNull[current ?? 'never'], needed && `Needs the scope \`${needed}\`.`]
          .filter((sentence) => sentence)
          .join(' ') || null,
    }
  }

  override onTypeConfig(type: PothosTypeConfig): PothosTypeConfig {
    const { pothosPrismaInclude: include, pothosPrismaSelect: select } = type.extensions ?? {}
    if (include || select)
      throw new Error(`${type.name} has \`include\` or \`select\`: the columns follow from the fields`)
    return type
  }

  private optionsOfParent({ parentType }: PothosOutputFieldConfig<Types>) {
    return this.buildCache.getTypeConfig(parentType).pothosOptions
  }

  /** Whether the parent of the field is what a mutation has written, or null. */
  private isResult(field: PothosOutputFieldConfig<Types>): boolean {
    return this.optionsOfParent(field).isPayload === true && field.name !== 'userErrors'
  }

  /** The relation that a field of plugin-prisma's `t.relation` loads. */
  private relationOf({
    parentType,
    name,
    type,
    extensions,
  }: PothosOutputFieldConfig<Types>): FieldMetadata['relation'] {
    const declared = extensions?.['pothosPrismaRelationField'] as { readonly name: string } | undefined
    const refuse = (option: string, instead: string) => {
      throw new Error(`${parentType}.${name} is not planned, because it has ${option}: use ${instead}`)
    }
    if (!declared) {
      if (extensions?.['pothosPrismaSelect'])
        refuse('a selection of plugin-prisma', '`columns`, `t.relation` or `t.relatedList`')
      return undefined
    }
    if ('pothosPrismaFallbackPlan' in (extensions ?? {})) refuse('cursors of plugin-prisma', '`t.relatedList`')
    if (extensions?.['pothosPrismaFallback']) refuse('a resolver', '`t.field`')
    const model = this.buildCache.getTypeConfig(parentType).extensions?.['pothosPrismaModel'] as Model
    return relatedRows(
      dataModelOf(this.builder),
      model,
      declared.name,
      extensions?.['pothosPrismaSelect'] as Parameters<typeof relatedRows>[3],
      !type.nullable,
    )
  }

  override wrapResolve(resolve: Resolver<Types>, field: PothosOutputFieldConfig<Types>): Resolver<Types> {
    const declared = field.extensions?.[declaredResolver] as DeclaredResolver<Types> | undefined
    const planned: Resolver<Types> | undefined =
      declared &&
      ((parent, args, context, info) =>
        declared({ select: { [plannedField]: nodeOf(info) } }, parent, args, context, info))
    const { relation, current } = metadataOf(field)
    const own = (relation?.resolve as Resolver<Types> | undefined) ?? planned ?? resolve
    return this.guarded(this.isResult(field) ? ofResult(own, current) : own, field)
  }

  override wrapSubscribe(
    subscribe: Resolver<Types> | undefined,
    field: PothosOutputFieldConfig<Types>,
  ): Resolver<Types> | undefined {
    return subscribe && this.guarded(subscribe, field)
  }

  private guarded(resolve: Resolver<Types>, field: PothosOutputFieldConfig<Types>): Resolver<Types> {
    const scope = scopeOf(field)
    if (this.options.guarded === false || !scope) return resolve
    return (parent, args, context, info) => {
      const ofRequest = context as Types['Context'] & Context
      const { viewer } = ofRequest
      if (!viewer.scopes.includes(scope) && isNullableType(info.returnType)) return mask(ofRequest, info, scope)
      requireScope(viewer, scope)
      return resolve(parent, args, context, info)
    }
  }
}

/** The resolver of `t.prismaField`, whose first argument is the query for what the document selects. */
type DeclaredResolver<Types extends SchemaTypes> = (
  query: object,
  ...args: Parameters<Resolver<Types>>
) => ReturnType<Resolver<Types>>

const declaredResolver = 'treesResolver'

// plugin-prisma would read the document for each request. A query that stands for the plan of the field costs nothing.
type PrismaField = (options: { readonly resolve: unknown; readonly extensions?: object }) => unknown
const fields = RootFieldBuilder.prototype as unknown as { prismaField: PrismaField }
const { prismaField } = fields
fields.prismaField = function plannedPrismaField(options) {
  const extensions = { ...options.extensions, [declaredResolver]: options.resolve }
  return prismaField.call(this, { ...options, extensions })
}

/** Methods of plugin-prisma whose fields are not planned, and what to use instead. */
const unplanned = [
  [RootFieldBuilder.prototype, 'prismaConnection', 't.list'],
  [RootFieldBuilder.prototype, 'prismaFieldWithInput', 't.prismaField'],
  [SchemaBuilder.prototype, 'prismaNode', 'builder.prismaObject'],
] as const
type Method = (this: { readonly options?: object; readonly builder?: object }, ...args: unknown[]) => unknown
for (const [prototype, name, instead] of unplanned) {
  const methods = prototype as unknown as Record<string, Method>
  const method = methods[name] as Method
  methods[name] = function refused(...args) {
    const { options } = (this.builder ?? this) as { readonly options: { readonly plugins?: readonly string[] } }
    if (options.plugins?.includes(treesPlugin)) throw new Error(`\`${name}\` is not planned: use \`${instead}\``)
    return method.apply(this, args)
  }
}

/** A resolver of what a mutation has written, for its payload. */
function ofResult<Types extends SchemaTypes>(
  resolve: Resolver<Types>,
  current: FieldMetadata['current'],
): Resolver<Types> {
  return (parent, args, context, info) => {
    const payload = parent as Payload<unknown>
    if (payload.result === null || current === 'only') return (current && payload.current) ?? null
    return resolve(payload.result, args, context, info)
  }
}

SchemaBuilder.registerPlugin(treesPlugin, TreesPlugin)
