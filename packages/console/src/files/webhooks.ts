import { useState } from 'preact/hooks'
import { mutate } from './client.ts'
import { formatEnum } from './format.ts'
import { Choices, Field, FormDialog, SecretDialog, textOf } from './forms.ts'
import { h, html } from './html.ts'
import { ListPage } from './list.ts'
import { createWebhookMutation, eventTypes, type WebhooksQuery, webhooksQuery } from './operations.generated.ts'
import { usePages } from './pages.ts'
import { hrefOf, navigate, root, useRoute } from './router.ts'
import { type Column, column, timeOf } from './table.ts'
import { Badge } from './ui.ts'
import { statusOf, WebhookPanel } from './webhook-panel.ts'

type WebhookRow = NonNullable<WebhooksQuery['webhooks']>['edges'][number]['node']

const columns: readonly Column<WebhookRow>[] = [
  column('URL', 'minmax(14rem, 3fr)', ({ url }) => url, 'title'),
  column('Status', '8rem', (webhook) => h(Badge, { status: statusOf(webhook) }), 'end'),
  column('Events', 'minmax(12rem, 3fr)', (webhook) => webhook.eventTypes.map(formatEnum).join(', '), 'meta'),
  column('Description', 'minmax(8rem, 2fr)', ({ description }) => description),
  column('Created', '8rem', timeOf('createdAt')),
]

export function WebhooksPage() {
  const { id } = useRoute()
  const pages = usePages({ query: webhooksQuery, variables: {}, connectionOf: ({ webhooks }) => webhooks })
  const [isCreating, setCreating] = useState(false)
  const [secret, setSecret] = useState<string>()
  const onCreated = (created: string, newSecret: string) => {
    setCreating(false)
    setSecret(newSecret)
    navigate(hrefOf('webhooks', created))
  }
  const list = h(ListPage<WebhookRow>, {
    title: 'Webhooks',
    page: 'webhooks',
    columns,
    pages,
    selected: id,
    actions: html`<button type="button" class="primary" onClick=${() => setCreating(true)}>New webhook</button>`,
    help: html`A webhook tells your server of events. The <a href=${`${root}guides/webhooks`}>guide</a> shows how to verify its messages.`,
    panel: id && h(WebhookPanel, { key: id, id, onSecret: setSecret }),
  })
  const secretDialog =
    secret &&
    h(
      SecretDialog,
      { title: 'Secret of the webhook', secret, onClose: () => setSecret(undefined) },
      'It verifies the messages.',
    )
  return [list, isCreating && h(NewWebhook, { onClose: () => setCreating(false), onCreated }), secretDialog]
}

interface NewWebhookProps {
  readonly onClose: () => void
  readonly onCreated: (id: string, secret: string) => void
}

function NewWebhook({ onClose, onCreated }: NewWebhookProps) {
  const submit = async (form: FormData) => {
    const [description, query] = [textOf(form, 'description'), textOf(form, 'query')]
    const chosen = form.getAll('eventTypes')
    const { webhook, secret } = await mutate(createWebhookMutation, {
      url: textOf(form, 'url'),
      eventTypes: eventTypes.filter((type) => chosen.includes(type)),
      ...(description && { description }),
      ...(query && { query }),
    })
    if (webhook && secret) onCreated(webhook.id, secret)
  }
  const url = html`<input name="url" type="url" required placeholder="https://example.com/webhook" />`
  const query = html`<textarea name="query" rows="3" spellcheck="false" placeholder="query ($id: ID!) { user(id: $id) { name } }"></textarea>`
  const queryHint = 'A query with the variable $id, whose data is sent instead of the event.'
  return h(
    FormDialog,
    { title: 'New webhook', action: 'Create webhook', onClose, onSubmit: submit },
    h(Field, { label: 'URL', hint: 'It receives events by POST.' }, url),
    h(Choices, { legend: 'Events', name: 'eventTypes', values: eventTypes, chosen: [] }),
    h(Field, { label: 'Description (optional)' }, html`<input name="description" maxlength="500" />`),
    h(Field, { label: 'Query (optional)', hint: queryHint }, query),
  )
}
