import type { KeyRing } from '@fusion-gateway/auth'
import { GatewayError, invalidField } from '@fusion-gateway/base'
import type { ApiKey, Webhook } from '@fusion-gateway/database'
import type { Context } from '@fusion-gateway/gateway-kit'
import { atMost, filledText, httpUrl, kept, listOf, parseInput, rule, text } from '@fusion-gateway/input'
import { isPossibleId, statement, write } from '@fusion-gateway/sql'
import { z } from 'zod'
import { lockKeys } from '../credential/key.service.ts'
import { selectedFields } from '../event/changed-fields.ts'
import { type EventType, isEventId, eventTypes as knownTypes } from '../event/event.ts'
import { completeOf } from '../event/new-events.ts'
import { createDeliveryStore } from './delivery/delivery-store.ts'
import { generateSecret, secretOwnerOf } from './secrets.ts'
import { webhookIds } from './webhook.ts'

/** Services for machines, such as mail, have the lower ports. They must not be sent requests. */
function hasAllowedPort({ port }: URL): boolean {
  return port === '' || ['80', '443'].includes(port) || Number(port) >= 1_024
}

const webhookUrl = httpUrl.check(
  rule('INVALID_FORMAT', 'must not contain a user, a password or a fragment', (value) => {
    const { username, password, hash } = new URL(value)
    return username === '' && password === '' && hash === ''
  }),
  rule('OUT_OF_RANGE', 'must have the port 80, 443, or one from 1024', (value) => hasAllowedPort(new URL(value))),
)

const eventTypes = listOf(z.enum(Object.keys(knownTypes) as [EventType, ...EventType[]]))
  .check(rule('REQUIRED', 'must name a type of event', (types) => types.length > 0))
  .transform((types) => [...new Set(types)])

const webhookQuery = filledText.check(atMost(4_000))
const description = text(500)

const newWebhook = z.object({
  url: webhookUrl,
  eventTypes,
  fields: selectedFields.nullish(),
  query: webhookQuery.nullish(),
  description: description.nullish(),
})

/**
 * The input of `updateWebhook`. Null clears `fields`, `query` and `description`, and is rejected for the others.
 */
const webhookChange = z.object({
  url: kept(webhookUrl),
  eventTypes: kept(eventTypes),
  fields: selectedFields.nullish(),
  query: webhookQuery.nullish(),
  description: description.nullish(),
  enabled: kept(z.boolean()),
})

/** The input of `redeliverEvents`, besides the webhook. */
const which = z.object({ after: z.string().nullish(), eventIds: listOf(z.string()).nullish() })
const redelivery = which.extend({ events: which.nullish() })

/** How many webhooks a tenant can have, because each event is sent to all of them. */
export const maxWebhooks = 50

const countWebhooks = statement('SELECT count(*) FROM webhook WHERE tenant_app_id = $1')

const replaceSecret = write(`
  UPDATE webhook SET previous_secret = secret, previous_secret_until = now() + interval '24 hours', secret = $3, updated_at = now()
  WHERE tenant_app_id = $1 AND id = $2`)

const readRemovedTo = statement('SELECT events_removed_to FROM tenant_app WHERE id = $1')

const rewind = write('UPDATE webhook SET cursor = least(cursor, $3) WHERE tenant_app_id = $1 AND id = $2')

/** A webhook and its new secret, which is shown only once. */
export interface WebhookSecret {
  readonly webhook: Webhook
  readonly secret: string
}

/** What `checkWebhook` reads of an input; the id of the webhook if it is to be changed. */
type CheckedInput = Partial<Pick<z.input<typeof webhookChange>, 'url' | 'query' | 'enabled'>> & { readonly id?: string }

/**
 * Checks the URL and the query of a webhook, before the transaction because names are looked up, and documents wait in
 * a queue. What is invalid otherwise is left to `run`.
 *
 * @throws GatewayError BAD_USER_INPUT if the deliveries would be refused, or the query would fail
 */
export async function checkWebhook(context: Context, input: CheckedInput): Promise<void> {
  await checkAddress(context, input)
  const { viewer, webhooks, db } = context
  if (!isRedirection(input)) return
  let { query } = input
  if (query === undefined && input.id !== undefined && isPossibleId(input.id)) {
    query = (await db.webhook.findFirst({ where: { id: input.id } }))?.query
  }
  const { data } = webhookQuery.safeParse(query)
  if (data !== undefined) await webhooks.checkQuery(viewer, data)
}

/** Whether a change of a webhook changes what is sent, or where to. */
function isRedirection({ url, query, enabled }: CheckedInput): boolean {
  return url != null || query != null || enabled === true
}

async function checkAddress({ viewer, webhooks }: Context, { url }: CheckedInput): Promise<void> {
  const { data } = webhookUrl.safeParse(url)
  if (data === undefined || !(await webhooks.isBlocked(viewer.tenantAppId, data))) return
  const reason =
    'must not lead to an address that is not public. The operator can allow its network with FETCH_PRIVATE_NETWORKS'
  throw invalidField('url', 'OUT_OF_RANGE', reason)
}

/**
 * Creates a webhook of the viewer's tenant, within a transaction. It receives the events from now on.
 *
 * @throws GatewayError BAD_USER_INPUT naming every invalid field; CONFLICT if the tenant has as many webhooks as it
 *   can; FORBIDDEN if the viewer has no API key, or the operator has set no key for secrets
 */
export async function createWebhook(context: Context, input: z.input<typeof newWebhook>): Promise<WebhookSecret> {
  const { viewer, sql, db } = context
  const { fields, ...given } = parseInput(newWebhook, input)
  const secrets = requireSecrets(context)
  const { tenantAppId } = viewer
  const keyId = await requireKey(context)
  const [[count] = []] = await sql.query(countWebhooks, [tenantAppId])
  if (Number(count) >= maxWebhooks) {
    throw invalidField('url', 'CONFLICT', `cannot be added: the tenant already has ${maxWebhooks} webhooks`)
  }
  const id = webhookIds.create()
  const secret = generateSecret()
  const webhook = await db.webhook.create({
    data: {
      ...given,
      fields: fields ?? [],
      id,
      cursor: await completeOf(context, tenantAppId),
      keyId,
      scopes: [...viewer.scopes],
      secret: secrets.encrypt(secret, secretOwnerOf({ tenantAppId, id })),
    },
  })
  return { webhook, secret }
}

/**
 * Changes a webhook of the viewer's tenant, within a transaction. Absent fields keep their value. A change of what is
 * sent, or where to, makes the viewer's key the one whose scopes count. Otherwise a key with few scopes could direct
 * the data of another key to itself.
 *
 * @throws GatewayError BAD_USER_INPUT naming every invalid field; NOT_FOUND for `id`; FORBIDDEN if the viewer has no
 *   API key
 */
export async function updateWebhook(
  context: Context,
  { id, ...input }: z.input<typeof webhookChange> & { readonly id: string },
): Promise<Webhook> {
  const { viewer, db } = context
  const { url, eventTypes, fields, query, description, enabled } = parseInput(webhookChange, input)
  const webhook = await findWebhook(context, 'id', id)
  const isRedirected = isRedirection({ url, query, enabled })
  const data = {
    ...(url !== undefined && { url, failingSince: null, pausedUntil: null }),
    ...(eventTypes !== undefined && { eventTypes }),
    ...(fields !== undefined && { fields: fields ?? [] }),
    ...(query !== undefined && { query }),
    ...(description !== undefined && { description }),
    ...(enabled !== undefined && { enabled, disabledReason: null, failingSince: null, pausedUntil: null }),
    ...(isRedirected && { keyId: await requireKey(context), scopes: [...viewer.scopes] }),
  }
  if (Object.keys(data).length === 0) return webhook
  const [changed] = await db.webhook.updateEach([{ where: { id }, data }])
  if (!changed) throw webhookNotFound('id')
  return changed
}

/**
 * Deletes a webhook of the viewer's tenant and its deliveries.
 *
 * @returns the id of the deleted webhook
 * @throws GatewayError BAD_USER_INPUT with NOT_FOUND
 */
export async function deleteWebhook({ viewer, sql, db }: Context, { id }: { readonly id: string }): Promise<string> {
  if (!isPossibleId(id)) throw webhookNotFound('id')
  // Millions of deliveries take longer than one statement may.
  await createDeliveryStore(sql).removeOf({ tenantAppId: viewer.tenantAppId, id })
  const [deleted] = await db.webhook.deleteEach({ where: [{ id }], select: { id: true } })
  if (!deleted) throw webhookNotFound('id')
  return id
}

/**
 * Gives a webhook a new secret. For 24 hours deliveries are also signed with the one before.
 *
 * @throws GatewayError BAD_USER_INPUT with NOT_FOUND; FORBIDDEN if the operator has set no key for secrets
 */
export async function rotateWebhookSecret(context: Context, { id }: { readonly id: string }): Promise<WebhookSecret> {
  const { tenantAppId } = await findWebhook(context, 'id', id)
  const secret = generateSecret()
  const stored = requireSecrets(context).encrypt(secret, secretOwnerOf({ tenantAppId, id }))
  // One statement, so that two rotations at the same time do not lose a secret that was shown.
  await context.sql.execute(replaceSecret, [tenantAppId, id, stored])
  return { webhook: await findWebhook(context, 'id', id), secret }
}

/**
 * Sends events to a webhook again: those with given ids, whatever their type, or all of its types after an id. Within a
 * transaction.
 *
 * @throws GatewayError BAD_USER_INPUT: NOT_FOUND for the webhook or an event, CONFLICT if the webhook is disabled
 */
export async function redeliverEvents(
  context: Context,
  { webhookId, ...input }: z.input<typeof redelivery> & { readonly webhookId: string },
): Promise<Webhook> {
  const { sql, viewer } = context
  const { events, ...outside } = parseInput(redelivery, input)
  if (events && Object.values(outside).some((value) => value != null)) {
    throw invalidField('events', 'CONFLICT', 'cannot be given together with after or eventIds')
  }
  const { after, eventIds } = events ?? outside
  const webhook = await findWebhook(context, 'webhookId', webhookId)
  if (!webhook.enabled) throw invalidField('webhookId', 'CONFLICT', 'is the id of a disabled webhook. Enable it first')
  if ((after == null) === (eventIds == null || eventIds.length === 0)) {
    throw invalidField('events', 'REQUIRED', 'must have after, or eventIds with at least one id')
  }
  const { tenantAppId } = viewer
  if (eventIds?.length) {
    const known = new Set(await createDeliveryStore(sql).redeliver(webhook, eventIds.filter(isEventId)))
    const unknown = eventIds.find((id) => !known.has(id))
    if (unknown !== undefined) throw invalidField('eventIds', 'NOT_FOUND', 'must be ids of events that are still kept')
    return webhook
  }
  if (after == null || !isEventId(after)) throw invalidField('after', 'INVALID_FORMAT', 'is not the id of an event')
  const [[removedTo] = []] = await sql.query(readRemovedTo, [tenantAppId])
  if (after < String(removedTo ?? '')) {
    throw invalidField('after', 'NOT_FOUND', 'is older than the events that are kept')
  }
  await sql.execute(rewind, [tenantAppId, webhookId, after])
  return webhook
}

async function findWebhook({ db }: Context, field: string, id: string): Promise<Webhook> {
  const found = isPossibleId(id) ? await db.webhook.findFirst({ where: { id } }) : null
  if (!found) throw webhookNotFound(field)
  return found
}

function webhookNotFound(field: string): GatewayError {
  return invalidField(field, 'NOT_FOUND', 'is not the id of a webhook')
}

function requireSecrets({ webhooks }: Context): KeyRing {
  if (webhooks.secrets) return webhooks.secrets
  throw new GatewayError('FORBIDDEN', 'This gateway has no webhooks: its operator has not set SECRET_KEYS.')
}

/**
 * Requires that the viewer has an API key, itself or as the creator of its token, because a webhook ends with its key.
 * Webhooks of a tenant are created one at a time, and not while a key is revoked.
 *
 * @returns the id of the key, or of its last successor if it has been rotated and is only valid for a while
 */
async function requireKey({ viewer: { tenantAppId, keyId }, sql, db }: Context): Promise<string> {
  await lockKeys(sql, tenantAppId)
  async function find(id: string): Promise<ApiKey | undefined> {
    const key = await db.apiKey.findFirst({ where: { id } })
    return key?.revokedAt === null ? key : undefined
  }
  let key = await find(keyId)
  if (!key) throw new GatewayError('FORBIDDEN', 'A webhook needs a valid API key, or a token that a key has created.')
  for (
    let next: ApiKey | undefined = key;
    next;
    next = next.successorId === null ? undefined : await find(next.successorId)
  )
    key = next
  return key.id
}
