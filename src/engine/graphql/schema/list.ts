import type { ObjectRef } from '@pothos/core'
import type { Scope } from '../../auth/scopes.ts'
import type { Model } from '../../db/data-model.ts'
import type { Condition } from '../../db/read/list.ts'
import { byTime } from '../../db/read/order.ts'
import { type Window, windowOf } from '../../db/read/page.ts'
import { builder } from './builder.ts'
import { readPageRequest, toConnection } from './connection.ts'
import { pointsOfPlan, pointsOfScan } from './field-metadata.ts'
import type { Filter } from './filter.ts'
import type { defineOrder } from './order.ts'

type Types = (typeof builder)['$inferSchemaTypes']
type FilterValues = Parameters<Filter['isScan']>[0]

interface ListOptions {
  readonly model: Model
  readonly type: ObjectRef<Types, unknown>
  /** The things in the list: `users`. */
  readonly plural: string
  readonly scope: Scope
  readonly description: string
  /**
   * The filter and the order. Without it the list has neither `filter` nor `orderBy` nor `totalCount`, and the oldest
   * rows come first.
   */
  readonly selection?: {
    readonly filter: Filter
    readonly order: ReturnType<typeof defineOrder>
    /** The order without the argument `orderBy`, in words. */
    readonly defaultOrder: string
  }
}

/**
 * Defines a query field that lists the rows of a model, as a Relay connection with a filter, an order and `totalCount`:
 * `defineList('users', { model: 'User', … })` ⇒ `users(first, last, after, before, filter, orderBy): UserConnection`.
 */
export function defineList(name: string, { model, type, plural, scope, description, selection }: ListOptions): void {
  const order = selection ? `${selection.defaultOrder} by default.` : 'Oldest first.'

  builder.queryField(name, (t) =>
    t.connection(
      {
        type,
        scope,
        description: `${description} ${order}`,
        cost: {
          extra: ({ filter }) => (selection?.filter.isScan((filter ?? {}) as FilterValues) ? pointsOfScan : 0),
        },
        args:
          selection === undefined
            ? {}
            : {
                filter: t.arg({ type: selection.filter.type, description: `Selects ${plural}. All by default.` }),
                orderBy: t.arg({ type: selection.order.type, description: `The order. ${order}` }),
              },
        resolve: async (_, args, context) => {
          // TypeScript does not follow the types of arguments that a list may lack.
          const { filter, orderBy } = args as { filter?: FilterValues | null; orderBy?: never }
          const list = { name: plural, order: selection?.order.read(orderBy) ?? byTime('createdAt', 'ASC') }
          const page = readPageRequest(args, list)
          const conditions = selection?.filter.conditionsOf(filter ?? {}, context) ?? []
          const rows = await context.loaders.list(model, { conditions, ...windowOf(page) })
          const hasRow = (window: Window) => context.loaders.hasRow(model, { conditions, ...window })
          return { ...toConnection(list, page, rows, hasRow), conditions } as never
        },
      },
      {
        name: `${model}Connection`,
        scope: 'inherited',
        description: `A page of ${plural}.`,
        fields: (connection) =>
          selection === undefined
            ? {}
            : {
                totalCount: connection.int({
                  description: `The number of ${plural} in the whole list. It is counted only if requested.`,
                  cost: { extra: () => pointsOfScan },
                  resolve: (parent, _, { loaders }) =>
                    loaders.count(model, (parent as unknown as { conditions: Condition[] }).conditions),
                }),
                totalCountEstimate: connection.int({
                  nullable: true,
                  description: `About the number of ${plural} in the whole list, as the database estimates it without counting. It can be off by a multiple. Null if the filter has a condition on a text or an id.`,
                  cost: { extra: () => pointsOfPlan },
                  resolve: (parent, _, { loaders }) =>
                    loaders.estimate(model, (parent as unknown as { conditions: Condition[] }).conditions),
                }),
              },
      },
      { name: `${model}Edge`, scope: 'inherited', description: `One of the ${plural} and its cursor.` },
    ),
  )
}
