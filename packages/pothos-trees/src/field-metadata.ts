import type { FieldScope, Scope } from '@fusion-gateway/base'
import type { Model, Relation } from '@fusion-gateway/prisma-trees'
import type { FieldNode, GraphQLFieldResolver } from 'graphql'
import type { Deprecation } from './text/deprecation.ts'
import type { Context } from './types.ts'

/** The cost of a field besides one point for each node, and the length of its lists. */
export interface FieldCost {
  /** The path of the argument with the page size or the list of inputs, if not `first` or `last`: `input.limit`. */
  readonly page?: string
  /** The length of the list: a number, or the argument whose entries it has. */
  readonly length?: number | { readonly asArgument: string }
  /**
   * Further points, for the arguments as the client sent them.
   *
   * @param isOfRoot whether the field is one of a root field, such as `totalCount` of `users`
   */
  readonly extra?: (args: Readonly<Record<string, unknown>>, isOfRoot: boolean) => number
}

/** The metadata of a field besides its type and its resolver. Fields declare it as options. */
export interface FieldMetadata {
  /** The scope that a viewer needs for this field. By default that of its type. */
  readonly scope?: FieldScope | undefined
  /** Whether the field is null for viewers without the scope, although it always has a value. */
  readonly isMasked?: boolean
  /** Whether the field has a value unless it has an error. `TreesPlugin` sets it. */
  readonly isNullByError?: boolean
  /** Whether the result is a secret that is shown only once, and stored nowhere. */
  readonly isSecret?: boolean
  readonly cost?: FieldCost
  /**
   * The relation that the field loads, and the field of its parent that holds the id. It can be read with the parent.
   */
  readonly relation?: {
    readonly relation: Relation
    readonly from: string
    /** Whether it is the whole relation if the field has no arguments. */
    readonly canBeWhole?: boolean
    /**
     * The relation for the arguments of the field, if they select some of its rows, or several for several parts of them.
     *
     * @param node the field in the document. Its arguments are read once in a request
     * @throws GatewayError for arguments that the resolver rejects
     */
    readonly restrict?: (node: FieldNode, args: () => object, context: Context) => Relation | readonly Relation[]
    /** The fields of the related rows that the resolver reads itself, besides those that are selected. */
    readonly fields?: readonly string[]
    /** The resolver, if the field has no other. */
    readonly resolve?: GraphQLFieldResolver<unknown, Context>
  }
  /** The columns that the field reads, if it reads others than the one with its name. */
  readonly columns?: readonly string[]
  /** For a field of Query or Subscription: the model that it reads, by which argument, and whether it reads others. */
  readonly root?: { readonly model: Model; readonly ids?: string; readonly readsOthers?: boolean }
  /** The models of the rows that it reads, if its type does not say it: that of `node` is abstract. */
  readonly models?: readonly Model[]
  /** Whether its value can change without a change of a row that its operation reads. See `dependenciesOf`. */
  readonly isUnlogged?: boolean
  /** Whether a field of Subscription is read again as a live query is, and follows no events. */
  readonly isLive?: boolean
  /** Whether the field shows the row as it is now if it was not written: instead of the result, or only then. */
  readonly current?: 'instead' | 'only'
  /** Why the field is deprecated, instead of Pothos' `deprecationReason`. */
  readonly deprecation?: Deprecation
}

/** The extra points of a field whose statement reads rows that it does not return: a count, a search. */
export const pointsOfScan = 50

/** The rows that a parent is assumed to have in a nested list. Conditions are applied to all of them. */
export const rowsOfParent = 5

/** The extra points of a statement that reads no row, or a page of one parent. */
export const pointsOfShortStatement = 5

export const metadataKey = 'metadata'

const none: FieldMetadata = {}

/** The metadata of a field. GraphQL's own fields, such as `__typename`, have none. */
export function metadataOf({
  extensions,
}: {
  readonly extensions?: Readonly<Record<string, unknown>> | null | undefined
}) {
  return (extensions?.[metadataKey] as FieldMetadata | undefined) ?? none
}

export function scopeOf(field: Parameters<typeof metadataOf>[0]): Scope | undefined {
  const { scope } = metadataOf(field)
  return scope === 'inherited' ? undefined : scope
}
