import { z } from 'zod'
import { atMost, filledText, httpUrl, listOf, rule, text } from '../../engine/input/rules.ts'
import { type EventType, eventTypes as knownTypes } from '../event/event.ts'

/** Services for machines, such as mail, have the lower ports. They must not be sent requests. */
function hasAllowedPort({ port }: URL): boolean {
  return port === '' || ['80', '443'].includes(port) || Number(port) >= 1_024
}

export const webhookUrl = httpUrl.check(
  rule('INVALID_FORMAT', 'must not contain a user, a password or a fragment', (value) => {
    const { username, password, hash } = new URL(value)
    return username === '' && password === '' && hash === ''
  }),
  rule('OUT_OF_RANGE', 'must have the port 80, 443, or one from 1024', (value) => hasAllowedPort(new URL(value))),
)

const eventTypes = z
  .array(z.enum(Object.keys(knownTypes) as [EventType, ...EventType[]]))
  .check(rule('REQUIRED', 'must name a type of event', (types) => types.length > 0))
  .transform((types) => [...new Set(types)])

export const webhookQuery = filledText.check(atMost(4_000))
const description = text(500)

export const newWebhook = z.object({
  url: webhookUrl,
  eventTypes,
  query: webhookQuery.nullish(),
  description: description.nullish(),
})

/**
 * The input of `updateWebhook`. Null leaves `url`, `eventTypes` and `enabled` unchanged, and clears `query` and
 * `description`.
 */
export const webhookChange = z.object({
  url: webhookUrl.nullish(),
  eventTypes: eventTypes.nullish(),
  query: webhookQuery.nullish(),
  description: description.nullish(),
  enabled: z.boolean().nullish(),
})

const maxEventIds = 100

/** The input of `redeliverEvents`, besides the webhook. */
export const redelivery = z.object({ after: z.string().nullish(), eventIds: listOf(z.string(), maxEventIds).nullish() })
