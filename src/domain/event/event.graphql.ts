import { ownValue } from '@fusion-gateway/base'
import type { Context } from '@fusion-gateway/gateway-kit'
import { listOf, parseInput } from '@fusion-gateway/input'
import { type ConnectionArguments, pointsOfScan, readPageById, type Side } from '@fusion-gateway/pothos-trees'
import type { IdWindow } from '@fusion-gateway/prisma-trees'
import { isPossibleId } from '@fusion-gateway/sql'
import { z } from 'zod'
import { builder } from '../builder.ts'
import { loadNode, Node, nodeModels } from '../node.graphql.ts'
import { isAbout, selectedFields } from './changed-fields.ts'
import { type Event as EventRow, type EventType as EventTypeName, eventTypes, isEventId } from './event.ts'
import { liveValues } from './live.ts'
import { parsePosition } from './position.ts'

export const EventType = builder.enumType('EventType', {
  description: 'What has changed.',
  values: Object.fromEntries(
    Object.entries(eventTypes).map(([name, description]) => [name, { description }]),
  ) as Record<EventTypeName, { description: string }>,
})

/** The types of the resources that events are about, by the first word of the event's type. */
const resources: Readonly<Record<string, string>> = {
  USER: 'User',
  ACCOUNT: 'Account',
  PROFILE: 'Profile',
  JOB: 'Job',
  WEBHOOK: 'Webhook',
}

export const Event = builder.objectRef<EventRow>('Event').implement({
  scope: 'inherited',
  description: 'A change of a user, account, profile or job, or of the state of a webhook.',
  fields: (t) => ({
    id: t.exposeID('id', {
      description: 'The id. Ids sort in the order of the log; pass one as `after` to continue behind it.',
    }),
    type: t.field({ type: EventType, description: 'What has changed.', resolve: ({ type }) => type }),
    resourceId: t.exposeID('resourceId', { description: 'The id of the user, account, profile, job or webhook.' }),
    userId: t.exposeID('userId', {
      nullable: true,
      description: 'The user whom the resource belongs to, or who it is. Null for a job and a webhook.',
    }),
    createdAt: t.expose('createdAt', {
      type: 'DateTime',
      description: 'The time when the transaction of the change began.',
    }),
    node: t.field({
      type: Node,
      nullable: true,
      models: nodeModels,
      description: 'The resource as it is now. Null once it is deleted. Needs the scope of its type.',
      resolve: ({ type, resourceId }, _, context, info) =>
        loadNode(ownValue(resources, type.slice(0, type.indexOf('_'))) ?? '', resourceId, context, info),
    }),
    changedFields: t.stringList({
      nullable: true,
      description:
        'The names of the fields that the change wrote: of the user with USER_UPDATED, of the account with ACCOUNT_UPDATED, and of the profile ' +
        'with PROFILE_SYNCED, for a new profile those that have a value. Without `updatedAt` and `syncedAt`, which every change writes. Null for ' +
        'other types, for a profile that SQL deleted, and for events of before a release that has this field.',
      resolve: ({ changedFields }) => changedFields && [...changedFields],
    }),
    keyId: t.exposeID('keyId', {
      nullable: true,
      description:
        'The API key that made the change, itself or by a token, or the trusted issuer of the token. Null for commands, imports and the workers of the gateway.',
    }),
    requestId: t.exposeString('requestId', {
      nullable: true,
      description: 'The id of the request that made the change: its header `x-request-id`.',
    }),
  }),
})

const EventFilter = builder.inputType('EventFilter', {
  description: 'Selects events. An absent or null field does not restrict the list.',
  fields: (t) => ({
    types: t.field({ type: [EventType], description: 'Events of one of these types.' }),
    resourceId: t.id({
      description:
        'The events of this user, account, profile, job or webhook: its history. Imported objects of different types can have the same id. ' +
        'Then these are the events of all of them, and `types` selects those of one.',
    }),
    userId: t.id({ description: 'The events of this user and of the accounts and profiles of the user.' }),
    createdAfter: t.field({ type: 'DateTime', description: 'Created after this time.' }),
    createdBefore: t.field({ type: 'DateTime', description: 'Created before this time.' }),
  }),
})

const typesRule = z.object({ types: listOf(z.any()).nullish() })

const subscriptionRules = typesRule.extend({ fields: selectedFields.nullish() })

interface EventArguments extends ConnectionArguments {
  readonly filter?: {
    readonly types?: EventTypeName[] | null
    readonly resourceId?: string | null
    readonly userId?: string | null
    readonly createdAfter?: Date | null
    readonly createdBefore?: Date | null
  } | null
}

/** Whether many events may be read that are not returned. */
const isScan = ({ types, createdAfter, createdBefore }: NonNullable<EventArguments['filter']>) =>
  types || createdAfter || createdBefore

/** What a page of the log costs that is read for one follower. It may have no event that concerns the follower. */
const pointsOfPage = 10

function listEvents({ viewer, events }: Context, { filter, ...page }: EventArguments) {
  const { types, resourceId, userId, createdAfter, createdBefore } = filter ?? {}
  parseInput(typesRule, { types }, 'filter')
  const selection = {
    types: types ?? undefined,
    resourceId: resourceId ?? undefined,
    userId: viewer.userId ?? userId ?? undefined,
    createdAfter: createdAfter ?? undefined,
    createdBefore: createdBefore ?? undefined,
  }
  // The token of a user sees no events of another one.
  const isOfViewer = viewer.userId === undefined || userId == null || userId === viewer.userId
  const isPossible = isOfViewer && [resourceId, userId].every((id) => id == null || isPossibleId(id))
  const read = async ({ after, ...window }: IdWindow) => {
    const unseenAt = after === undefined ? undefined : parsePosition(after)
    return isPossible ? events.read(viewer, { ...window, ...selection, unseenAt }) : []
  }
  const isCursor = (text: string, side: Side) =>
    side === 'after' ? parsePosition(text) !== undefined : isEventId(text)
  return readPageById(page, { isId: isCursor, name: 'the id of an event' }, read)
}

builder.queryField('events', (t) =>
  t.connection(
    {
      type: Event,
      scope: 'events:read',
      description:
        "Lists the changes of your tenant's users, accounts, profiles and jobs, oldest first. They are kept for the number of days that the " +
        'operator has chosen. The cursor of an event is its id. A token that is bound to a user sees the events of this user.',
      models: ['Event'],
      cost: { extra: ({ filter }) => (isScan((filter ?? {}) as object) ? pointsOfScan : 0) },
      args: { filter: t.arg({ type: EventFilter, description: 'Selects events. All by default.' }) },
      resolve: (_, args, context) => listEvents(context, args as EventArguments),
    },
    { name: 'EventConnection', scope: 'inherited', description: 'A page of events.' },
    { name: 'EventEdge', scope: 'inherited', description: 'One of the events and its cursor.' },
  ),
)

builder.subscriptionField('events', (t) =>
  t.field({
    type: Event,
    scope: 'events:read',
    description:
      "Sends each change of your tenant's users, accounts, profiles and jobs, in the order of the log. After a reconnect, continue with the id " +
      'of the last event that you have received: no event is missed or sent twice. The first message has the position to continue from before there ' +
      'is an event, in `extensions.position`. A token that is bound to a user receives the events of this user.',
    args: {
      after: t.arg.id({
        description: 'The id of an event, or a position. By default, events are sent from now on.',
      }),
      types: t.arg({ type: [EventType], description: 'Events of one of these types. All by default.' }),
      fields: t.arg.stringList({
        description:
          'Of the events that have `changedFields`, only those with one of these fields, such as `email`. Others are selected by `types` alone.',
      }),
    },
    async subscribe(_, { after, types, fields: names }, { viewer, events, subscription }) {
      const { fields } = parseInput(subscriptionRules, { types, fields: names })
      const follower = await events.follow(viewer, after ?? undefined, () => subscription?.spend(pointsOfPage))
      const concerns = ({ type, userId, ...event }: EventRow) =>
        (viewer.userId === undefined || userId === viewer.userId) &&
        (types == null || types.includes(type)) &&
        (fields == null || isAbout(fields, event))
      return liveValues(follower, { after: async (written) => written.filter(concerns), eventIdOf: ({ id }) => id })
    },
    resolve: (event: EventRow) => event,
  }),
)
