import { useState } from 'preact/hooks'
import { mutate } from './client.ts'
import { type Failure, failureOf } from './failure.ts'
import { formatEnum, plural } from './format.ts'
import { Field, FormDialog, textOf } from './forms.ts'
import { h, html } from './html.ts'
import {
  deleteWebhookMutation,
  redeliverEventsMutation,
  rotateWebhookSecretMutation,
  updateWebhookMutation,
  type WebhookDeliveryStatus,
  type WebhookQuery,
  webhookQuery,
} from './operations.generated.ts'
import { Panel } from './panel.ts'
import { useQuery } from './query.ts'
import { hrefOf, navigate } from './router.ts'
import { Badge, Code, Facts, Problem, type Status, Time } from './ui.ts'

type Webhook = NonNullable<WebhookQuery['webhook']>

export function statusOf({ enabled, disabledReason }: Pick<Webhook, 'enabled' | 'disabledReason'>): Status {
  if (enabled) return 'ENABLED'
  return disabledReason ? 'FAILED' : 'DISABLED'
}

/** Whether a delivery in a state has ended. */
const hasEnded: Readonly<Record<WebhookDeliveryStatus, boolean>> = {
  PENDING: false,
  RUNNING: false,
  SUCCEEDED: true,
  FAILED: true,
}

interface WebhookPanelProps {
  readonly id: string
  readonly onSecret: (secret: string) => void
}

export function WebhookPanel({ id, onSecret }: WebhookPanelProps) {
  const [first, setFirst] = useState(50)
  const query = useQuery(webhookQuery, { id, first })
  const [shown, setShown] = useState<WebhookQuery>()
  const [dialog, setDialog] = useState<DialogName>()
  const [problem, setProblem] = useState<Failure>()
  if (query.data && query.data !== shown) setShown(query.data)
  const webhook = (query.data ?? shown)?.webhook
  const onDone = () => setDialog(undefined)
  const act = (changing: Promise<unknown>) => {
    setProblem(undefined)
    changing.then(onDone, (error: unknown) => setProblem(failureOf(error)))
  }
  const redeliver = (eventIds: readonly string[]) =>
    act(mutate(redeliverEventsMutation, { webhookId: id, events: { eventIds } }))
  const button = (name: DialogName, text: string) =>
    html`<button type="button" onClick=${() => setDialog(name)}>${text}</button>`
  const toggle = () => act(mutate(updateWebhookMutation, { id, enabled: !webhook?.enabled }))
  const panel = h(Panel<Webhook>, {
    kind: 'Webhook',
    title: webhook?.url ?? id,
    page: 'webhooks',
    status: webhook ? statusOf(webhook) : undefined,
    query,
    problem,
    actions: html`
      <button type="button" onClick=${toggle}>${webhook?.enabled ? 'Disable' : 'Enable'}</button>
      ${button('rotate', 'Rotate secret…')} ${button('delete', 'Delete…')}
    `,
    object: webhook,
    body: (found) => html`
      ${h(Details, { webhook: found })}
      ${h(Deliveries, {
        deliveries: found.deliveries,
        redeliver,
        replay: button('replay', 'Replay…'),
        onMore: first < 500 ? () => setFirst(500) : undefined,
      })}
    `,
  })
  const oldest = webhook?.deliveries.nodes.at(-1)?.eventId
  const options = { id, oldest, onDone, onSecret }
  return [panel, dialog && h(WebhookDialog, { ...options, name: dialog })]
}

function Details({ webhook }: { readonly webhook: Webhook }) {
  const { id, description, disabledReason, updatedAt, eventTypes, fields, query } = webhook
  return html`
    ${disabledReason && h(Problem, { title: 'Disabled by the gateway', text: disabledReason })}
    ${h(Facts, {
      entries: [
        ['Id', html`<code>${id}</code>`],
        ['Description', description],
        ['Changed', h(Time, { at: updatedAt })],
        ['Events', eventTypes.map(formatEnum).join(', ')],
        ['Fields', fields?.join(', ')],
      ],
    })}
    ${query && h(Code, { title: 'Query', text: query })}
  `
}

type Redeliver = (eventIds: readonly string[]) => void

interface DeliveriesProps {
  readonly deliveries: Webhook['deliveries']
  readonly redeliver: Redeliver
  /** The button that replays events. */
  readonly replay: ReturnType<typeof html>
  readonly onMore: (() => void) | undefined
}

function Deliveries({ deliveries: { nodes, pageInfo }, redeliver, replay, onMore }: DeliveriesProps) {
  const failed = nodes.filter(({ status }) => status === 'FAILED').map(({ eventId }) => eventId)
  return html`
    <div class="line">
      <h3>Deliveries</h3><span class="push"></span>
      ${failed.length > 0 && html`<button type="button" onClick=${() => redeliver(failed)}>Redeliver ${plural(failed.length, 'failed event')}</button>`}
      ${replay}
    </div>
    ${nodes.length === 0 && html`<p class="soft">No event was sent yet.</p>`}
    <ul class="deliveries">${nodes.map((delivery) => h(Delivery, { key: delivery.id, delivery, redeliver }))}</ul>
    ${pageInfo.hasNextPage && onMore && html`<button type="button" onClick=${onMore}>Show more</button>`}
  `
}

interface DeliveryProps {
  readonly delivery: Webhook['deliveries']['nodes'][number]
  readonly redeliver: Redeliver
}

function Delivery({ delivery, redeliver }: DeliveryProps) {
  const { eventId, eventType, status, attempts, responseStatus, error, createdAt, nextAttemptAt } = delivery
  return html`
    <li>
      ${h(Badge, { status })}
      <span>
        ${formatEnum(eventType)}
        <small>
          ${h(Time, { at: createdAt })}, ${plural(attempts, 'attempt')}${responseStatus && `, status ${responseStatus}`}
          ${status === 'PENDING' && nextAttemptAt && html`, next ${h(Time, { at: nextAttemptAt })}`}
        </small>
        ${error && html`<small class="bad">${error}</small>`}
      </span>
      ${hasEnded[status] && html`<button type="button" class="small" aria-label=${`Redeliver ${eventId}`} onClick=${() => redeliver([eventId])}>Redeliver</button>`}
    </li>
  `
}

const dialogs = {
  rotate: ['Rotate the secret', 'For 24 hours messages are also signed with the present one.'],
  delete: ['Delete the webhook', 'Its deliveries are deleted too, and no event is sent any more.'],
  replay: ['Replay events', 'Sends the events after this one again, if the webhook selects them.'],
} as const

type DialogName = keyof typeof dialogs

interface WebhookDialogProps extends WebhookPanelProps {
  readonly name: DialogName
  /** The event of the oldest delivery, after which events are replayed by default. */
  readonly oldest: string | undefined
  readonly onDone: () => void
}

function WebhookDialog({ id, name, oldest, onDone, onSecret }: WebhookDialogProps) {
  const submits: Readonly<Record<DialogName, (form: FormData) => Promise<void>>> = {
    async rotate() {
      const { secret } = await mutate(rotateWebhookSecretMutation, { id })
      onDone()
      if (secret) onSecret(secret)
    },
    async delete() {
      await mutate(deleteWebhookMutation, { id })
      navigate(hrefOf('webhooks'))
    },
    async replay(form) {
      await mutate(redeliverEventsMutation, { webhookId: id, events: { after: textOf(form, 'after') } })
      onDone()
    },
  }
  const [title, text] = dialogs[name]
  const input = html`<input name="after" required placeholder="evt_…" defaultValue=${oldest} />`
  return h(
    FormDialog,
    { title, onClose: onDone, onSubmit: submits[name], isDangerous: name === 'delete' },
    html`<p>${text}</p>`,
    name === 'replay' && h(Field, { label: 'Id of the event' }, input),
  )
}
