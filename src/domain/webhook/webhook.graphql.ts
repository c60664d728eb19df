import {
  equalTo,
  inputWithId,
  type OutputFields,
  oneOf,
  pointsOfScan,
  pointsOfShortStatement,
  readPage,
  readPageRequest,
} from '@fusion-gateway/pothos-trees'
import { newestFirst } from '@fusion-gateway/prisma-trees'
import { builder } from '../builder.ts'
import { EventType } from '../event/event.graphql.ts'
import type { EventType as EventTypeName } from '../event/event.ts'
import { Node, registerNode } from '../node.graphql.ts'
import { readUnnamedCursor } from '../unnamed-cursors.ts'
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
    fields: t.stringList({
      nullable: true,
      description: 'Of the events that name what they changed, those with one of these fields are sent. Null: all.',
      resolve: ({ fields }) => (fields.length > 0 ? fields : null),
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

const webhooks = builder.list(Webhook, { plural: 'webhooks' })

builder.queryField('webhooks', (t) => t.list(webhooks, { scope, description: "Lists your tenant's webhooks." }))

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

const DeliveryFilter = builder.filter('WebhookDelivery', {
  plural: 'deliveries',
  fields: (t) => ({
    status: t.enum(WebhookDeliveryStatus, { description: 'The state.', isScan: true, where: equalTo('status') }),
    statuses: t.enumList(WebhookDeliveryStatus, {
      description: 'One of these states.',
      isScan: true,
      where: oneOf('status'),
    }),
  }),
})

builder.prismaObjectField(Webhook, 'deliveries', (t) =>
  t.connection(
    {
      type: WebhookDelivery,
      scope: 'inherited',
      description: 'The deliveries to the webhook, newest first. They are kept as long as their events.',
      // A statement for each webhook.
      cost: {
        extra: ({ filter }) => (DeliveryFilter.isScan(filter ?? {}) ? pointsOfScan : pointsOfShortStatement),
      },
      args: { filter: t.arg({ type: DeliveryFilter.type, description: 'Selects deliveries. All by default.' }) },
      resolve: ({ id }, { filter, ...args }, context) => {
        const { loaders } = context
        const list = { name: `deliveries of ${id}`, order: newestFirst, readCursor: readUnnamedCursor }
        const page = readPageRequest(args, list)
        const where = { AND: [{ webhookId: id }, DeliveryFilter.whereOf(filter ?? {}, context)] }
        return readPage(loaders, 'WebhookDelivery', list, page, where)
      },
    },
    { name: 'WebhookDeliveryConnection', scope: 'inherited', description: 'A page of deliveries.' },
    { name: 'WebhookDeliveryEdge', scope: 'inherited', description: 'One of the deliveries and its cursor.' },
  ),
)

const describe = {
  url: 'The URL: https or http, up to 2,048 characters, with the port 80, 443, or one from 1024. Its address must be public, unless the operator allows others.',
  eventTypes: 'The types of the events to send.',
  fields:
    'Of the events that have `changedFields`, only those with one of these fields are sent, such as `email`. Others are selected by `eventTypes` alone. All by default.',
  query:
    'A query operation with the variable `$id: ID!`: its data is sent, for the resource of each event. At most 4,000 characters and 1,000 ' +
    'points. By default the event itself is sent.',
  description: 'What the webhook is for: 1–500 characters.',
}

const withSecret = (description: string) => ({
  outputFields: (t: OutputFields<WebhookSecret>) => ({
    webhook: t.field({ type: Webhook, description, resolve: ({ webhook }) => webhook }),
    secret: t.string({
      description: 'The secret that verifies the signatures: `whsec_…`. It is shown only now.',
      resolve: ({ secret }) => secret,
    }),
  }),
})

builder.writeField(
  'createWebhook',
  {
    description: 'The webhook to create.',
    inputFields: (t) => ({
      url: t.string({ required: true, description: describe.url }),
      eventTypes: t.field({ type: [EventType], required: true, description: `${describe.eventTypes} At least one.` }),
      fields: t.stringList({ description: describe.fields }),
      query: t.string({ description: describe.query }),
      description: t.string({ description: describe.description }),
    }),
  },
  {
    scope,
    description: `Creates a webhook. A tenant can have ${maxWebhooks}. It stops working when the API key that created it is revoked or expires.`,
    isSecret: true,
    restrictions: { fields: ['fields'] },
    prepare: (input, context) => checkWebhook(context, input),
    resolve: (_root, { input }, context) => createWebhook(context, input),
  },
  withSecret('The new webhook.'),
)

builder.writeField(
  'updateWebhook',
  {
    description: 'The changes.',
    rules: 'Absent fields keep their value.',
    inputFields: (t) => ({
      id: t.id({ required: true, description: 'The id of the webhook.' }),
      url: t.string({ description: `${describe.url} Not null.` }),
      eventTypes: t.field({ type: [EventType], description: `${describe.eventTypes} Not null.` }),
      fields: t.stringList({ description: `${describe.fields} Null clears it.` }),
      query: t.string({ description: `${describe.query} Null clears it.` }),
      description: t.string({ description: `${describe.description} Null clears it.` }),
      enabled: t.boolean({ description: 'Whether events are sent. Not null.' }),
    }),
  },
  {
    scope,
    description:
      'Changes, disables or enables a webhook. After a change of `url` or `query`, and after `enabled: true`, the webhook has the scopes of the ' +
      'key of this request, and ends with it. After it was enabled again, it first receives the events that it has missed.',
    prepare: (input, context) => checkWebhook(context, input),
    resolve: (_root, { input }, context) => updateWebhook(context, input),
  },
  {
    outputFields: (t) => ({
      webhook: t.field({ type: Webhook, description: 'The changed webhook.', resolve: (webhook) => webhook }),
    }),
  },
)

builder.writeField(
  'deleteWebhook',
  { description: 'The webhook to delete.', inputFields: inputWithId('webhook') },
  {
    scope,
    description: 'Deletes a webhook and its deliveries.',
    transaction: false,
    resolve: (_root, { input }, context) => deleteWebhook(context, input),
  },
  {
    outputFields: (t) => ({
      deletedWebhookId: t.field({
        type: 'ID',
        description: 'The id of the deleted webhook.',
        resolve: (deletedWebhookId) => deletedWebhookId,
      }),
    }),
  },
)

builder.writeField(
  'rotateWebhookSecret',
  { description: 'The webhook whose secret is rotated.', inputFields: inputWithId('webhook') },
  {
    scope,
    description: 'Gives a webhook a new secret. For 24 hours deliveries are also signed with the one before.',
    isSecret: true,
    resolve: (_root, { input }, context) => rotateWebhookSecret(context, input),
  },
  withSecret('The webhook.'),
)

const EventsToRedeliver = builder.inputType('EventsToRedeliver', {
  description: 'Which events are sent again, by exactly one of the fields.',
  isOneOf: true,
  fields: (t) => ({
    after: t.id({ description: 'All events after this one, of the types of the webhook.' }),
    eventIds: t.idList({ description: 'The events with these ids, whatever their type: 1–100.' }),
  }),
})

builder.writeField(
  'redeliverEvents',
  {
    description: 'The events.',
    inputFields: (t) => ({
      webhookId: t.id({ required: true, description: 'The id of the webhook.' }),
      events: t.field({ type: EventsToRedeliver, description: 'The events. Required without `after` and `eventIds`.' }),
      after: t.id({ description: 'The field of `events`.', deprecationReason: 'Use `events`.' }),
      eventIds: t.idList({ description: 'The field of `events`.', deprecationReason: 'Use `events`.' }),
    }),
  },
  {
    scope,
    description: 'Sends events to a webhook again.',
    cost: { extra: () => pointsOfScan },
    resolve: (_root, { input }, context) => redeliverEvents(context, input),
  },
  {
    outputFields: (t) => ({
      webhook: t.field({ type: Webhook, description: 'The webhook.', resolve: (webhook) => webhook }),
    }),
  },
)
