import type { InputObjectRef, ObjectRef } from '@pothos/core'
import type { Scope } from '../../auth/scopes.ts'
import type { Context } from '../../context.ts'
import type { Model } from '../../db/data-model.ts'
import type { Condition } from '../../db/read/list.ts'
import { windowOf } from '../../db/read/page.ts'
import { builder } from './builder.ts'
import { readPageRequest, toConnection } from './connection.ts'
import { type FieldCost, pointsOfScan } from './field-metadata.ts'
import type { defineOrder } from './order.ts'

type Types = (typeof builder)['$inferSchemaTypes']

interface ListOptions<M extends Model, Filter extends object> {
  readonly model: M
  readonly type: ObjectRef<Types, unknown>
  /** The things in the list: `users`. */
  readonly plural: string
  readonly scope: Scope
  readonly description: string
  readonly filter: InputObjectRef<Types, Filter>
  readonly order: ReturnType<typeof defineOrder>
  /** The order without the argument `orderBy`, in words. */
  readonly defaultOrder: string
  /** Fields of the filter with which a statement may look at many rows that it does not return. They cost points. */
  readonly searches: readonly (keyof Filter & string)[]
  /**
   * The conditions of a filter.
   *
   * @throws GatewayError BAD_USER_INPUT for a value that no row can have; FORBIDDEN for a filter that reveals what the viewer may not read
   */
  readonly conditionsOf: (filter: Partial<Filter>, context: Context) => Condition[]
}

/**
 * Defines a query field that lists the rows of a model, as a Relay connection with a filter, an order and `totalCount`:
 * `defineList('users', { model: 'User', … })` ⇒ `users(first, last, after, before, filter, orderBy): UserConnection!`.
 */
export function defineList<M extends Model, Filter extends object>(
  name: string,
  options: ListOptions<M, Filter>,
): void {
  const { model, type, plural, scope, description, filter, order, searches, conditionsOf } = options
  const pointsOfFilter: FieldCost['extra'] = ({ filter: given }) =>
    searches.some((field) => (given as Partial<Filter> | null | undefined)?.[field] != null) ? pointsOfScan : 0

  builder.queryField(name, (t) =>
    t.connection(
      {
        type,
        scope,
        description: `${description} ${options.defaultOrder} by default.`,
        cost: { extra: pointsOfFilter },
        args: {
          filter: t.arg({ type: filter, description: `Selects ${plural}. All by default.` }),
          orderBy: t.arg({ type: order.type, description: `The order. ${options.defaultOrder} by default.` }),
        },
        resolve: async (_, args, context) => {
          // TypeScript does not follow the type of an argument whose input type is a parameter.
          const { filter: given, orderBy } = args as { filter?: Partial<Filter> | null; orderBy?: never }
          const page = readPageRequest(args, order.read(orderBy))
          const conditions = conditionsOf(given ?? {}, context)
          const rows = await context.loaders.list(model, { conditions, ...windowOf(page) })
          return { ...toConnection(page, rows), conditions } as never
        },
      },
      {
        name: `${model}Connection`,
        scope: 'inherited',
        description: `A page of ${plural}.`,
        fields: (connection) => ({
          totalCount: connection.int({
            description: `The number of ${plural} in the whole list. It is counted only if requested.`,
            cost: { extra: () => pointsOfScan },
            resolve: (parent, _, { loaders }) =>
              loaders.count(model, (parent as unknown as { conditions: Condition[] }).conditions),
          }),
        }),
      },
      { name: `${model}Edge`, scope: 'inherited', description: `One of the ${plural} and its cursor.` },
    ),
  )
}
