import type { Scope } from '@fusion-gateway/base'
import type { Context } from '@fusion-gateway/gateway-kit'
import { plannedLoaders } from '@fusion-gateway/pothos-trees'
import { asParent, type Model, type Relation, type Row, type SelectedRow } from '@fusion-gateway/prisma-trees'
import { isPossibleId } from '@fusion-gateway/sql'
import type { ObjectRef } from '@pothos/core'
import type { GraphQLResolveInfo } from 'graphql'
import { builder } from '../builder.ts'

interface LiveObject<M extends Model> {
  readonly type: ObjectRef<(typeof builder)['$inferSchemaTypes'], Row<M>>
  readonly scope: Scope
  readonly relation: Relation<M, SelectedRow<M> | null>
  /** What it follows: the changes of the object, and of what belongs to it. */
  readonly follows: string
  /** Whether the events about it do not always name its id. */
  readonly isAlsoNamedByOthers?: boolean
  /** Ends it after a result with which nothing changes any more. */
  readonly end?: { readonly when: string; isReached(context: Context, id: string): Promise<boolean> }
}

/** The deprecation of subscriptions to rows. Live queries do the same for all rows. */
export const replacedByLive = (instead: string) => ({
  reason: `Use ${instead}.`,
  since: '2026-11-30',
  sunset: '2027-12-01',
})

/**
 * Defines the subscription to an object: `defineLive('user', …)` ⇒ `subscription { user(id: ID!): User }`. It is a live
 * query of the object, which ends.
 */
export function defineLive<M extends Model>(name: string, options: LiveObject<M>): void {
  const { type, scope, relation, follows, isAlsoNamedByOthers, end } = options

  async function load(id: string, context: Context, info: GraphQLResolveInfo): Promise<Row<M> | null> {
    if (!isPossibleId(id)) return finish(context)
    // First, so that the row shows the end.
    const isOver = await end?.isReached(context, id)
    const row = await plannedLoaders(context, info).load(relation, id)
    if (isOver || row === null) finish(context)
    return row && asParent<M>(row)
  }

  function finish({ live }: Context): null {
    live?.end()
    return null
  }

  builder.subscriptionField(name, (t) =>
    t.field({
      type,
      nullable: true,
      scope,
      description: `Sends the ${name} now and after changes of ${follows} that the selected fields show${end ? `, until ${end.when}` : ''}. Sends null and ends if your tenant has none with this id.`,
      deprecation: replacedByLive(`the query \`${name}\` with \`@live\``),
      args: { id: t.arg.id({ required: true, description: `The id of the ${name}.` }) },
      root: { model: relation.model, ...(!isAlsoNamedByOthers && { ids: 'id' }) },
      isLive: true,
      // The gateway reads it again as a live query, and asks for no events.
      subscribe: () => Promise.reject(new Error('A live query has no events')),
      resolve: (_root, { id }, context, info) => load(id, context, info) as never,
    }),
  )
}
