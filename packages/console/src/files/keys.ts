import { useState } from 'preact/hooks'
import { mutate } from './client.ts'
import { formatNumber } from './format.ts'
import { FormDialog, SecretDialog } from './forms.ts'
import { h, html } from './html.ts'
import { NewKey, type NewSecret, NewToken } from './key-forms.ts'
import { ListPage } from './list.ts'
import {
  type ApiKeyQuery,
  apiKeyQuery,
  apiKeysQuery,
  type KeyRowFragment,
  revokeApiKeyMutation,
} from './operations.generated.ts'
import { usePages } from './pages.ts'
import { Panel } from './panel.ts'
import { useQuery } from './query.ts'
import { hrefOf, useRoute } from './router.ts'
import { can } from './session.ts'
import { type Column, column, timeOf } from './table.ts'
import { Badge, Chips, Facts, type Status, Time } from './ui.ts'

function statusOf({ revokedAt, expiresAt }: KeyRowFragment): Status {
  if (revokedAt) return 'REVOKED'
  return expiresAt && Date.parse(expiresAt) < Date.now() ? 'EXPIRED' : 'ACTIVE'
}

const expiryOf = ({ expiresAt }: KeyRowFragment) => (expiresAt ? h(Time, { at: expiresAt }) : 'Never')

const columns: readonly Column<KeyRowFragment>[] = [
  column('Name', 'minmax(10rem, 2fr)', ({ name }) => name, 'title'),
  column('Status', '8rem', (key) => h(Badge, { status: statusOf(key) }), 'end'),
  column('Scopes', 'minmax(10rem, 3fr)', ({ scopes }) => scopes.join(', '), 'meta'),
  column('Last used', '8rem', timeOf('lastUsedAt')),
  column('Expires', '8rem', expiryOf),
  column('Created', '8rem', timeOf('createdAt')),
]

export function KeysPage() {
  const { id } = useRoute()
  const pages = usePages({
    query: can('keys:write') && apiKeysQuery,
    variables: {},
    connectionOf: ({ apiKeys }) => apiKeys,
  })
  const [dialog, setDialog] = useState<'key' | 'token'>()
  const [secret, setSecret] = useState<NewSecret>()
  const onClose = () => setDialog(undefined)
  const onDone = (created: NewSecret) => {
    onClose()
    setSecret(created)
    pages.reload()
  }
  const list = h(ListPage<KeyRowFragment>, {
    title: 'Keys and tokens',
    page: 'keys',
    columns,
    pages,
    selected: id,
    actions: html`
      ${can('tokens:create') && html`<button type="button" onClick=${() => setDialog('token')}>New access token</button>`}
      ${can('keys:write') && html`<button type="button" class="primary" onClick=${() => setDialog('key')}>New key</button>`}
    `,
    help: 'Your key may not list keys: that needs the scope keys:write.',
    panel: id && can('keys:write') && h(KeyPanel, { key: id, id, onChange: pages.reload }),
  })
  return [
    list,
    dialog === 'key' && h(NewKey, { onClose, onDone }),
    dialog === 'token' && h(NewToken, { onClose, onDone }),
    secret &&
      h(SecretDialog, { title: secret.title, secret: secret.value, onClose: () => setSecret(undefined) }, secret.help),
  ]
}

type ApiKey = Extract<ApiKeyQuery['node'], { readonly __typename: 'ApiKey' }>

interface KeyPanelProps {
  readonly id: string
  readonly onChange: () => void
}

function KeyPanel({ id, onChange }: KeyPanelProps) {
  const query = useQuery(apiKeyQuery, { id })
  const [isRevoking, setRevoking] = useState(false)
  const node = query.data?.node
  const key = node?.__typename === 'ApiKey' ? node : undefined
  const status = key && statusOf(key)
  const onClose = () => setRevoking(false)
  const revoke = async () => {
    await mutate(revokeApiKeyMutation, { id })
    onClose()
    onChange()
    query.reload()
  }
  const panel = h(Panel<ApiKey>, {
    kind: 'Key',
    title: key?.name ?? id,
    page: 'keys',
    query,
    status,
    actions: status === 'ACTIVE' && html`<button type="button" onClick=${() => setRevoking(true)}>Revoke…</button>`,
    object: key,
    body: (found) => h(Facts, { entries: factsOf(found) }),
  })
  const warning = html`<p>The key <strong>${key?.name}</strong>, the keys that it has created, and their tokens and streams end within five seconds, for good.</p>`
  const options = { title: 'Revoke the key', isDangerous: true, onClose, onSubmit: revoke }
  return [panel, isRevoking && h(FormDialog, options, warning)]
}

function factsOf(key: ApiKey): Parameters<typeof Facts>[0]['entries'] {
  const { id, createdAt, creator, lastUsedAt, revokedAt, pointsPerMinute, scopes } = key
  return [
    ['Id', html`<code>${id}</code>`],
    ['Created', h(Time, { at: createdAt })],
    ['Created by', creator ? html`<a href=${hrefOf('keys', creator.id)}>${creator.name}</a>` : 'An operator'],
    ['Last used', h(Time, { at: lastUsedAt })],
    ['Expires', expiryOf(key)],
    ['Revoked', revokedAt && h(Time, { at: revokedAt })],
    ['Points per minute', pointsPerMinute && formatNumber(pointsPerMinute)],
    ['Scopes', h(Chips, { values: scopes })],
  ]
}
