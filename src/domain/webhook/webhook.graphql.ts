import { newestFirst } from '../../engine/db/read/order.ts'
import { builder } from '../../engine/graphql/schema/builder.ts'
import { readPage, readPageRequest } from '../../engine/graphql/schema/connection.ts'
import { pointsOfScan, pointsOfShortStatement } from '../../engine/graphql/schema/field-metadata.ts'
import { defineFilter } from '../../engine/graphql/schema/filter.ts'
import { defineList } from '../../engine/graphql/schema/list.ts'
import { defineMutation, inputWithId } from '../../engine/graphql/schema/mutation.ts'
import { Node, registerNode } from '../../engine/graphql/schema/node.ts'
import { EventType } from '../event/event.graphql.ts'
import type { EventType as EventTypeName } from '../event/event.ts'
import {
  checkWebhook,
  createWebhook,
  deleteWebhook,
  maxWebhooks,
  redeliverEvents,
  rotateWebhookSecret,
  updateWebhook,
  type WebhookSecret,
} from './webhook.service.ts'
import { type DeliveryStatus, deliveryStatuses, webhookById, webhookIds } from './webhook.ts'

const scope = 'webhooks:write'

const Webhook = builder.prismaObject('Webhook', {
  scope: 'inherited',
  description: 'An endpoint that is told of events. Its secret is shown only when it is created or rotated.',
  interfaces: [Node],
  fields: (t) => ({
    url: t.exposeString('url', { description: 'The URL to which events are sent by POST.' }),
    eventTypes: t.field({
      type: [EventType],
      description: 'The types of the events that are sent.',
      resolve: ({ eventTypes }) => eventTypes as EventTypeName[],
    }),
    query: t.exposeString('query', {
      nullable: true,
      description: 'The operation whose data is sent. Null: the event itself is sent.',
    }),
    description: t.exposeString('description', { nullable: true, description: 'What the webhook is for.' }),
    enabled: t.exposeBoolean('enabled', { description: 'Whether events are sent.' }),
    disabledReason: t.exposeString('disabledReason', {
      nullable: true,
      description: 'Why the gateway has disabled it. Null if it is enabled, or a client has disabled it.',
    }),
    pausedUntil: t.expose('pausedUntil', {
      type: 'DateTime',
      nullable: true,
      description:
        'Nothing is sent before this time, because the endpoint asked for it with `Retry-After`. It can be in the past. Null if the endpoint has not asked.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'The creation time.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'The time of the last change.' }),
  }),
})

registerNode('Webhook', webhookIds, scope, webhookById, { hasOnlyOwnIds: true })
builder.queryField('webhook', (t) =>
  t.prismaField({
    type: Webhook,
    nullable: true,
    scope,
    description: 'Returns the webhook with this id, or null if your tenant has none.',
    args: { id: t.arg.id({ required: true, description: 'The id of the webhook.' }) },
    root: { model: 'Webhook', ids: 'id' },
    resolve: (query, _root, { id }, { db }) => db.webhook.findFirst({ ...query, where: { id } }),
  }),
)

defineList('webhooks', {
  model: 'Webhook',
  type: Webhook,
  plural: 'webhooks',
  scope,
  description: "Lists your tenant's webhooks.",
})

const WebhookDeliveryStatus = builder.enumType('WebhookDeliveryStatus', {
  description: 'The state of a delivery.',
  values: Object.fromEntries(
    Object.entries(deliveryStatuses).map(([name, description]) => [name, { description }]),
  ) as Record<DeliveryStatus, { description: string }>,
})

const WebhookDelivery = builder.prismaObject('WebhookDelivery', {
  scope: 'inherited',
  description: 'An event that is sent to a webhook.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The id.' }),
    eventId: t.exposeID('eventId', { description: 'The id of the event, which is also the header `webhook-id`.' }),
    eventType: t.field({
      type: EventType,
      description: 'The type of the event.',
      resolve: ({ eventType }) => eventType as EventTypeName,
    }),
    status: t.field({
      type: WebhookDeliveryStatus,
      description: 'The state.',
      resolve: ({ status }) => status as DeliveryStatus,
    }),
    attempts: t.exposeInt('attempts', { description: 'The number of attempts so far.' }),
    nextAttemptAt: t.expose('nextAttemptAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'The time of the next attempt. While an attempt runs: when another worker makes the next one if this worker stops. Null if there is none.',
    }),
    responseStatus: t.exposeInt('responseStatus', {
      nullable: true,
      description: 'The HTTP status of the last response. Null if the last attempt had none.',
    }),
    error: t.exposeString('error', { nullable: true, description: 'Why the last attempt failed.' }),
    createdAt: t.expose('createdAt', {
      type: 'DateTime',
      description: 'The time when the event was read from the log.',
    }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'The time of the last change.' }),
  }),
})

const DeliveryFilter = defineFilter('WebhookDelivery', 'deliveries', (f) => ({
  status: f.value(WebhookDeliveryStatus, {
    description: 'The state.',
    isScan: true,
    where: (value) => ({ status: value }),
  }),
  statuses: f.values(WebhookDeliveryStatus, {
    description: 'One of these states.',
    isScan: true,
    where: (values) => ({ status: { in: values } }),
  }),
}))

builder.prismaObjectField(Webhook, 'deliveries', (t) =>
  t.connection(
    {
      type: WebhookDelivery,
      scope: 'inherited',
      description: 'The deliveries to the webhook, newest first. They are kept as long as their events.',
      // A statement for each webhook.
      cost: {
        extra: ({ filter }) =>
          DeliveryFilter.isScan((filter ?? {}) as object) ? pointsOfScan : pointsOfShortStatement,
      },
      args: { filter: t.arg({ type: DeliveryFilter.type, description: 'Selects deliveries. All by default.' }) },
      resolve: ({ id }, { filter, ...args }, context) => {
        const { loaders } = context
        const list = { name: `deliveries of ${id}`, order: newestFirst }
        const page = readPageRequest(args, list)
        const where = { AND: [{ webhookId: id }, DeliveryFilter.whereOf(filter ?? {}, context)] }
        return readPage(loaders, 'WebhookDelivery', list, page, where) as never
      },
    },
    { name: 'WebhookDeliveryConnection', scope: 'inherited', description: 'A page of deliveries.' },
    { name: 'WebhookDeliveryEdge', scope: 'inherited', description: 'One of the deliveries and its cursor.' },
  ),
)

const describe = {
  url: 'The URL: https or http, up to 2,048 characters, with the port 80, 443, or one from 1024. Its address must be public, unless the operator allows others.',
  eventTypes: 'The types of the events to send.',
  query:
    'A query operation with the variable `$id: ID!`: its data is sent, for the resource of each event. At most 4,000 characters and 1,000 ' +
    'points. By default the event itself is sent.',
  description: 'What the webhook is for: 1–500 characters.',
}

const withSecret = (description: string) => [
  { field: 'webhook', type: Webhook, description, value: ({ webhook }: WebhookSecret) => webhook },
  {
    field: 'secret',
    type: 'String' as const,
    description: 'The secret that verifies the signatures: `whsec_…`. It is shown only now.',
    value: ({ secret }: WebhookSecret) => secret,
  },
]

defineMutation('createWebhook', {
  scope,
  description: `Creates a webhook. A tenant can have ${maxWebhooks}. It stops working when the API key that created it is revoked or expires.`,
  inputDescription: 'The webhook to create.',
  input: (t) => ({
    url: t.string({ required: true, description: describe.url }),
    eventTypes: t.field({ type: [EventType], required: true, description: `${describe.eventTypes} At least one.` }),
    query: t.string({ description: describe.query }),
    description: t.string({ description: describe.description }),
  }),
  isSecret: true,
  results: withSecret('The new webhook.'),
  prepare: checkWebhook,
  run: createWebhook,
})

defineMutation('updateWebhook', {
  scope,
  description:
    'Changes, disables or enables a webhook. After a change of `url` or `query`, and after `enabled: true`, the webhook has the scopes of the ' +
    'key of this request, and ends with it. After it was enabled again, it first receives the events that it has missed.',
  inputDescription: 'The changes.',
  inputRules: 'Absent fields keep their value.',
  input: (t) => ({
    id: t.id({ required: true, description: 'The id of the webhook.' }),
    url: t.string({ description: `${describe.url} Not null.` }),
    eventTypes: t.field({ type: [EventType], description: `${describe.eventTypes} Not null.` }),
    query: t.string({ description: `${describe.query} Null clears it.` }),
    description: t.string({ description: `${describe.description} Null clears it.` }),
    enabled: t.boolean({ description: 'Whether events are sent. Not null.' }),
  }),
  results: [{ field: 'webhook', type: Webhook, description: 'The changed webhook.' }],
  prepare: checkWebhook,
  run: updateWebhook,
})

defineMutation('deleteWebhook', {
  scope,
  description: 'Deletes a webhook and its deliveries.',
  inputDescription: 'The webhook to delete.',
  input: inputWithId('webhook'),
  results: [{ field: 'deletedWebhookId', type: 'ID', description: 'The id of the deleted webhook.' }],
  transaction: false,
  run: deleteWebhook,
})

defineMutation('rotateWebhookSecret', {
  scope,
  description: 'Gives a webhook a new secret. For 24 hours deliveries are also signed with the one before.',
  inputDescription: 'The webhook whose secret is rotated.',
  input: inputWithId('webhook'),
  isSecret: true,
  results: withSecret('The webhook.'),
  run: rotateWebhookSecret,
})

const EventsToRedeliver = builder.inputType('EventsToRedeliver', {
  description: 'Which events are sent again, by exactly one of the fields.',
  isOneOf: true,
  fields: (t) => ({
    after: t.id({ description: 'All events after this one, of the types of the webhook.' }),
    eventIds: t.idList({ description: 'The events with these ids, whatever their type: 1–100.' }),
  }),
})

defineMutation('redeliverEvents', {
  scope,
  description: 'Sends events to a webhook again.',
  inputDescription: 'The events.',
  input: (t) => ({
    webhookId: t.id({ required: true, description: 'The id of the webhook.' }),
    events: t.field({ type: EventsToRedeliver, description: 'The events. Required without `after` and `eventIds`.' }),
    after: t.id({ description: 'The field of `events`.', deprecationReason: 'Use `events`.' }),
    eventIds: t.idList({ description: 'The field of `events`.', deprecationReason: 'Use `events`.' }),
  }),
  cost: { extra: () => pointsOfScan },
  results: [{ field: 'webhook', type: Webhook, description: 'The webhook.' }],
  run: redeliverEvents,
})
