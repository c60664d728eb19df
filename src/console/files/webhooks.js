import { useEffect, useState } from 'preact/hooks'
import { mutate, useQuery } from './client.js'
import { formatEnum, plural } from './format.js'
import { html } from './html.js'
import { column, ListPage, timeOf, usePages } from './list.js'
import { hrefOf, navigate, useRoute } from './router.js'
import { Badge, Choices, Code, Facts, Field, FormDialog, Panel, Problem, SecretDialog, Time } from './ui.js'

const eventTypes =
  `USER_CREATED USER_UPDATED USER_DELETED ACCOUNT_LINKED ACCOUNT_UPDATED ACCOUNT_UNLINKED PROFILE_SYNCED JOB_CREATED
  JOB_STARTED JOB_UPDATED JOB_SUCCEEDED JOB_FAILED JOB_CANCELLED JOB_RETRIED WEBHOOK_DISABLED`.split(/\s+/)

const listQuery = `query Webhooks($first: Int, $after: String) {
  webhooks(first: $first, after: $after) {
    nodes { id url description enabled disabledReason eventTypes createdAt }
    pageInfo { hasNextPage endCursor }
  }
}`

const webhookQuery = `query Webhook($id: ID!, $first: Int!) {
  webhook(id: $id) {
    id url description enabled disabledReason eventTypes query createdAt updatedAt
    deliveries(first: $first) {
      nodes { id eventId eventType status attempts responseStatus error createdAt nextAttemptAt }
      pageInfo { hasNextPage }
    }
  }
}`

const statusOf = ({ enabled, disabledReason }) => (enabled ? 'ENABLED' : disabledReason ? 'FAILED' : 'DISABLED')

const columns = [
  column('URL', 'minmax(14rem, 3fr)', ({ url }) => url, 'title'),
  column('Status', '8rem', (webhook) => html`<${Badge} status=${statusOf(webhook)} />`, 'end'),
  column('Events', 'minmax(12rem, 3fr)', (webhook) => webhook.eventTypes.map(formatEnum).join(', '), 'meta'),
  column('Description', 'minmax(8rem, 2fr)', ({ description }) => description),
  column('Created', '9rem', timeOf('createdAt')),
]

export function WebhooksPage() {
  const { id } = useRoute()
  const { pages, reload } = usePages(listQuery, {}, 'webhooks')
  const [isCreating, setCreating] = useState(false)
  const [secret, setSecret] = useState()
  const create = async (form) => {
    const { eventTypes: _, ...texts } = Object.fromEntries(form)
    const filled = Object.entries(texts).filter(([, text]) => text.trim() !== '')
    const input = { ...Object.fromEntries(filled), eventTypes: form.getAll('eventTypes') }
    const created = await mutate('createWebhook', 'webhook { id } secret', input)
    setCreating(false)
    setSecret(created.secret)
    reload()
    navigate(hrefOf('webhooks', created.webhook.id))
  }
  return html`
    <${ListPage}
      title="Webhooks"
      page="webhooks"
      ...${{ columns, pages, selected: id }}
      actions=${html`<button type="button" class="primary" onClick=${() => setCreating(true)}>New webhook</button>`}
      help=${html`A webhook tells your server of events. The <a href="/guides/webhooks">guide</a> shows how to verify its messages.`}
      panel=${id && html`<${WebhookPanel} key=${id} id=${id} onChange=${reload} onSecret=${setSecret} />`}
    />
    ${
      isCreating &&
      html`<${FormDialog} title="New webhook" action="Create webhook" onClose=${() => setCreating(false)} onSubmit=${create}>
        <${Field} label="URL" hint="It receives events by POST."><input name="url" type="url" required placeholder="https://example.com/webhook" /><//>
        <${Choices} legend="Events" name="eventTypes" values=${eventTypes} chosen=${[]} />
        <${Field} label="Description (optional)"><input name="description" maxlength="500" /><//>
        <${Field} label="Query (optional)" hint="A query with the variable $id, whose data is sent instead of the event.">
          <textarea name="query" rows="3" spellcheck="false" placeholder="query ($id: ID!) { user(id: $id) { name } }"></textarea>
        <//>
      <//>`
    }
    ${
      secret &&
      html`<${SecretDialog} title="Secret of the webhook" secret=${secret} onClose=${() => setSecret()}>It verifies the messages.<//>`
    }
  `
}

function WebhookPanel({ id, onChange, onSecret }) {
  const [first, setFirst] = useState(50)
  const query = useQuery(webhookQuery, { id, first })
  const [shown, setShown] = useState()
  const [dialog, setDialog] = useState()
  const [problem, setProblem] = useState()
  if (query.data && query.data !== shown) setShown(query.data)
  const webhook = (query.data ?? shown)?.webhook
  const deliveries = webhook?.deliveries.nodes ?? []
  const isWaiting = deliveries.some(({ status }) => status === 'PENDING' || status === 'RUNNING')
  // No subscription follows deliveries.
  useEffect(() => {
    if (!isWaiting) return
    const timer = setInterval(() => document.hidden || query.reload(), 3_000)
    return () => clearInterval(timer)
  }, [isWaiting, query.reload])

  const act = async (mutation, fields, input) => {
    setProblem()
    const payload = await mutate(mutation, fields, input)
    setDialog(undefined)
    onChange()
    query.reload()
    return payload
  }
  const redeliver = (eventIds) =>
    act('redeliverEvents', 'webhook { id }', { webhookId: id, eventIds }).catch(setProblem)
  const failed = deliveries.filter(({ status }) => status === 'FAILED').map(({ eventId }) => eventId)
  const remove = async () => {
    await mutate('deleteWebhook', 'deletedWebhookId', { id })
    navigate(hrefOf('webhooks'))
    onChange()
  }
  const rotate = async () => onSecret((await act('rotateWebhookSecret', 'secret', { id })).secret)
  const replay = (form) => act('redeliverEvents', 'webhook { id }', { webhookId: id, after: form.get('after').trim() })
  const dialogs = {
    rotate: ['Rotate the secret', rotate, 'For 24 hours messages are also signed with the present one.'],
    delete: ['Delete the webhook', remove, 'Its deliveries are deleted too, and no event is sent any more.'],
    replay: ['Replay events', replay, 'Sends the events after this one again, if the webhook selects them.'],
  }
  const [title, onSubmit, text] = dialogs[dialog] ?? []
  const button = (name, text) => html`<button type="button" onClick=${() => setDialog(name)}>${text}</button>`
  const toggle = () =>
    act('updateWebhook', 'webhook { id enabled }', { id, enabled: !webhook.enabled }).catch(setProblem)
  const actions = html`
    <button type="button" onClick=${toggle}>${webhook?.enabled ? 'Disable' : 'Enable'}</button>
    ${button('rotate', 'Rotate secret…')} ${button('delete', 'Delete…')}
  `
  const body = () => html`
    ${webhook.disabledReason && html`<${Problem} title="Disabled by the gateway" text=${webhook.disabledReason} />`}
    <${Facts}
      entries=${[
        ['Id', html`<code>${webhook.id}</code>`],
        ['Description', webhook.description],
        ['Changed', html`<${Time} at=${webhook.updatedAt} />`],
        ['Events', webhook.eventTypes.map(formatEnum).join(', ')],
      ]}
    />
    ${webhook.query && html`<${Code} title="Query" text=${webhook.query} />`}
    <div class="line">
      <h3>Deliveries</h3><span class="push"></span>
      ${failed.length > 0 && html`<button type="button" onClick=${() => redeliver(failed)}>Redeliver ${plural(failed.length, 'failed event')}</button>`}
      ${button('replay', 'Replay…')}
    </div>
    ${deliveries.length === 0 && html`<p class="soft">No event was sent yet.</p>`}
    <ul class="deliveries">${deliveries.map((delivery) => html`<${Delivery} key=${delivery.id} ...${{ ...delivery, redeliver }} />`)}</ul>
    ${
      webhook.deliveries.pageInfo.hasNextPage &&
      first < 500 &&
      html`<button type="button" onClick=${() => setFirst(500)}>Show more</button>`
    }
  `
  return html`
    <${Panel} kind="Webhook" title=${webhook?.url ?? id} page="webhooks" status=${webhook && statusOf(webhook)} ...${{ query, actions, problem }} object=${webhook} body=${body} />
    ${
      dialog &&
      html`<${FormDialog} ...${{ title, onSubmit }} isDangerous=${dialog === 'delete'} onClose=${() => setDialog()}>
        <p>${text}</p>
        ${dialog === 'replay' && html`<${Field} label="Id of the event"><input name="after" required placeholder="evt_…" defaultValue=${deliveries.at(-1)?.eventId} /><//>`}
      <//>`
    }
  `
}

const Delivery = ({
  eventId,
  eventType,
  status,
  attempts,
  responseStatus,
  error,
  createdAt,
  nextAttemptAt,
  redeliver,
}) => html`
  <li>
    <${Badge} status=${status} />
    <span>
      ${formatEnum(eventType)}
      <small>
        <${Time} at=${createdAt} />, ${plural(attempts, 'attempt')}${responseStatus && `, status ${responseStatus}`}
        ${status === 'PENDING' && nextAttemptAt && html`, next <${Time} at=${nextAttemptAt} />`}
      </small>
      ${error && html`<small class="bad">${error}</small>`}
    </span>
    ${/FAILED|SUCCEEDED/.test(status) && html`<button type="button" class="small" aria-label=${`Redeliver ${eventId}`} onClick=${() => redeliver([eventId])}>Redeliver</button>`}
  </li>
`
