import type { Scope } from '@fusion-gateway/base'
import type { Context } from '@fusion-gateway/gateway-kit'
import { plannedLoaders } from '@fusion-gateway/pothos-trees'
import type { Model, Relation, Row, SelectedRow } from '@fusion-gateway/prisma-trees'
import { isPossibleId } from '@fusion-gateway/sql'
import type { ObjectRef } from '@pothos/core'
import { builder } from '../builder.ts'
import { liveValues } from './live.ts'

interface LiveObject<M extends Model> {
  readonly type: ObjectRef<(typeof builder)['$inferSchemaTypes'], Row<M>>
  readonly scope: Scope
  readonly relation: Relation<M, SelectedRow<M> | null>
  /** What it follows: the changes of the object, and of what belongs to it. */
  readonly follows: string
  /** The field of events by which they concern the object. */
  readonly by: 'userId' | 'accountId'
  /** Finds the value of that field; null if the viewer has no object with this id. */
  readonly find: (context: Context, id: string) => Promise<string | null>
}

/** Defines the subscription to an object: `defineLive('user', …)` ⇒ `subscription { user(id: ID!): User }`. */
export function defineLive<M extends Model>(name: string, options: LiveObject<M>): void {
  const { type, scope, relation, follows, by, find } = options

  async function follow(context: Context, id: string) {
    const { viewer, events } = context
    const follower = await events.follow(viewer)
    let key: string | null = null
    async function read(): Promise<{ id: string } | null> {
      const found = isPossibleId(id) ? await find(context, id) : null
      key = found
      return found === null ? null : { id }
    }
    return liveValues(follower, {
      first: read,
      after: async (written) => (written.some((event) => event[by] === key) ? [await read()] : []),
      isOver: () => key === null,
    })
  }

  builder.subscriptionField(name, (t) =>
    t.field({
      type,
      nullable: true,
      scope,
      description: `Sends the ${name} now and after changes of ${follows}; several changes at once are sent as one. Sends null and ends if your tenant has none with this id.`,
      args: { id: t.arg.id({ required: true, description: `The id of the ${name}.` }) },
      subscribe: (_, { id }, context) => follow(context, id),
      resolve: (row: { id: string } | null, _, context, info) =>
        (row && plannedLoaders(context, info).load(relation, row.id)) as never,
    }),
  )
}
