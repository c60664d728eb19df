import { eventTypes } from '../../domain/event/event.ts'
import { dottedType } from '../../domain/webhook/delivery/payload.ts'
import type { Json } from './json-schema.ts'

const names = Object.keys(eventTypes) as (keyof typeof eventTypes)[]
const id = { type: 'string' }
const idOrNull = { type: ['string', 'null'] }

const header = (name: string, description: string, schema: Json) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema,
})

const event = {
  type: 'object',
  description: 'The event, or the `data` of the result of the query of the webhook.',
  properties: {
    id,
    type: { type: 'string', enum: names },
    resourceId: id,
    userId: idOrNull,
    createdAt: { type: 'string', format: 'date-time' },
    keyId: idOrNull,
    requestId: idOrNull,
  },
}

const example = {
  type: 'user.created',
  timestamp: '2026-01-31T08:00:00.000Z',
  data: {
    id: 'evt_0000000013a1000001000001',
    type: 'USER_CREATED',
    resourceId: 'usr_demo_1',
    userId: 'usr_demo_1',
    createdAt: '2026-01-31T08:00:00.000Z',
    keyId: null,
    requestId: null,
  },
}

/** What the gateway sends to endpoints of webhooks. */
export const webhooks: Record<string, Record<string, Json>> = {
  event: {
    post: {
      operationId: 'receiveEvent',
      tags: ['webhooks'],
      summary: 'Receive an event',
      description:
        'Sent to the `url` of a webhook, which the GraphQL mutation `createWebhook` makes, for each event of its types, at least once. ' +
        'Verify the signature by the Standard Webhooks specification.',
      security: [],
      parameters: [
        header('webhook-id', 'The id of the event, the same for each attempt.', id),
        header('webhook-timestamp', 'The time of the attempt, in seconds since 1970.', {
          type: 'string',
          pattern: '^\\d+$',
        }),
        header('webhook-signature', '`v1,` and the signature in base64. While a secret is rotated, two of them.', id),
      ],
      requestBody: {
        required: true,
        content: {
          'application/json': {
            schema: {
              type: 'object',
              properties: {
                type: { type: 'string', enum: names.map(dottedType) },
                timestamp: { type: 'string', format: 'date-time', description: 'When the resource changed.' },
                data: event,
              },
              required: ['type', 'timestamp', 'data'],
            },
            example,
          },
        },
      },
      responses: {
        '2XX': { description: 'The event was received.' },
        '410': { description: 'The endpoint no longer exists. The gateway disables the webhook.' },
        '4XX': { description: 'The gateway tries again later, as for any other status.' },
      },
    },
  },
}
