import { useState } from 'preact/hooks'
import { mutate, useQuery } from './client.js'
import { formatNumber } from './format.js'
import { html } from './html.js'
import { column, ListPage, timeOf, usePages } from './list.js'
import { hrefOf, navigate, useRoute } from './router.js'
import { can, viewer } from './session.js'
import { Badge, Choices, Facts, Field, FormDialog, Panel, SecretDialog, Select, Time } from './ui.js'

const fields = 'id name scopes createdAt lastUsedAt expiresAt revokedAt pointsPerMinute'

const listQuery = `query ApiKeys($first: Int, $after: String) {
  apiKeys(first: $first, after: $after) {
    nodes { ${fields} }
    pageInfo { hasNextPage endCursor }
  }
}`

const keyQuery = `query ApiKey($id: ID!) {
  node(id: $id) {
    ... on ApiKey { ${fields} creator { id name } }
  }
}`

function statusOf({ revokedAt, expiresAt }) {
  if (revokedAt) return 'REVOKED'
  return expiresAt && new Date(expiresAt) < new Date() ? 'EXPIRED' : 'ACTIVE'
}

const columns = [
  column('Name', 'minmax(10rem, 2fr)', ({ name }) => name, 'title'),
  column('Status', '8rem', (key) => html`<${Badge} status=${statusOf(key)} />`, 'end'),
  column('Scopes', 'minmax(10rem, 3fr)', ({ scopes }) => scopes.join(', '), 'meta'),
  column('Last used', '9rem', timeOf('lastUsedAt')),
  column('Expires', '9rem', ({ expiresAt }) => (expiresAt ? html`<${Time} at=${expiresAt} />` : 'Never')),
  column('Created', '9rem', timeOf('createdAt')),
]

export function KeysPage() {
  const { id } = useRoute()
  const { pages, reload } = usePages(can('keys:write') && listQuery, {}, 'apiKeys')
  const [dialog, setDialog] = useState()
  const [secret, setSecret] = useState()
  const onDone = (title, help, value) => {
    setDialog()
    setSecret({ title, help, value })
    reload()
  }
  const dialogs = { key: NewKey, token: NewToken }
  const actions = html`
    ${can('tokens:create') && html`<button type="button" onClick=${() => setDialog('token')}>New access token</button>`}
    ${can('keys:write') && html`<button type="button" class="primary" onClick=${() => setDialog('key')}>New key</button>`}
  `
  return html`
    <${ListPage}
      title="Keys and tokens"
      page="keys"
      ...${{ columns, pages, actions, selected: id }}
      help="Your key may not list keys: that needs the scope keys:write."
      panel=${id && can('keys:write') && html`<${KeyPanel} key=${id} id=${id} onChange=${reload} />`}
    />
    ${dialog && html`<${dialogs[dialog]} onClose=${() => setDialog()} onDone=${onDone} />`}
    ${secret && html`<${SecretDialog} title=${secret.title} secret=${secret.value} onClose=${() => setSecret()}>${secret.help}<//>`}
  `
}

function KeyPanel({ id, onChange }) {
  const query = useQuery(keyQuery, { id })
  const [isRevoking, setRevoking] = useState(false)
  const key = query.data?.node?.scopes && query.data.node
  const status = key && statusOf(key)
  const actions = status === 'ACTIVE' && html`<button type="button" onClick=${() => setRevoking(true)}>Revoke…</button>`
  const by = key?.creator
  const creator = by ? html`<a href=${hrefOf('keys', by.id)}>${by.name}</a>` : 'An operator'
  const revoke = async () => {
    await mutate('revokeApiKey', 'apiKey { id revokedAt }', { id })
    setRevoking(false)
    onChange()
    query.reload()
  }
  const body = () => html`
    <${Facts}
      entries=${[
        ['Id', html`<code>${key.id}</code>`],
        ['Created', html`<${Time} at=${key.createdAt} />`],
        ['Created by', creator],
        ['Last used', html`<${Time} at=${key.lastUsedAt} />`],
        ['Expires', key.expiresAt ? html`<${Time} at=${key.expiresAt} />` : 'Never'],
        ['Revoked', key.revokedAt && html`<${Time} at=${key.revokedAt} />`],
        ['Points per minute', key.pointsPerMinute && formatNumber(key.pointsPerMinute)],
        ['Scopes', key.scopes.map((scope) => html`<span class="chip">${scope}</span> `)],
      ]}
    />
  `
  return html`
    <${Panel} kind="Key" title=${key?.name ?? id} page="keys" ...${{ query, status, actions }} object=${key} body=${body} />
    ${
      isRevoking &&
      html`<${FormDialog} title="Revoke the key" isDangerous onClose=${() => setRevoking(false)} onSubmit=${revoke}>
        <p>The key <strong>${key.name}</strong>, the keys that it has created, and their tokens and streams end within five seconds, for good.</p>
      <//>`
    }
  `
}

const daysFromNow = (days) => new Date(Date.now() + Number(days) * 86_400_000).toISOString()
const lifetimes = { '': 'With your key', 1: 'In a day', 30: 'In 30 days', 365: 'In a year' }

function NewKey({ onClose, onDone }) {
  const submit = async (form) => {
    const [name, days, scopes] = [form.get('name').trim(), form.get('days'), form.getAll('scopes')]
    const input = { name, scopes, ...(days && { expiresAt: daysFromNow(days) }) }
    const { apiKey, key } = await mutate('createApiKey', 'apiKey { id } key', input)
    navigate(hrefOf('keys', apiKey.id))
    onDone('New key', 'Send the key in the header x-api-key.', key)
  }
  return html`
    <${FormDialog} title="New key" action="Create key" ...${{ onClose, onSubmit: submit }}>
      <${Field} label="Name" hint="Such as the program that will use it."><input name="name" required maxlength="200" autocomplete="off" /><//>
      <${Choices} legend="Scopes" name="scopes" values=${viewer.get().scopes} />
      <span>Expires <${Select} label="Expires" name="days" options=${Object.entries(lifetimes)} /></span>
    <//>
  `
}

/** The scopes that a token for a user can have. */
const userScopes = ['users:read', 'users:write', 'profiles:read', 'contacts:read', 'events:read']

function NewToken({ onClose, onDone }) {
  const [isForUser, setForUser] = useState('yes')
  const scopes = viewer.get().scopes.filter((scope) => !isForUser || userScopes.includes(scope))
  const submit = async (form) => {
    const expiresInSeconds = Number(form.get('seconds'))
    const input = { scopes: form.getAll('scopes'), expiresInSeconds, userId: form.get('userId')?.trim() }
    const { accessToken } = await mutate('createAccessToken', 'accessToken expiresAt', input)
    onDone('New access token', 'Send the token as “Authorization: Bearer …”.', accessToken)
  }
  return html`
    <${FormDialog} title="New access token" action="Create token" ...${{ onClose, onSubmit: submit }}>
      <span>Sees <${Select} label="Sees" value=${isForUser} options=${[['yes', 'one user'], ['', 'the tenant']]} onChange=${setForUser} /></span>
      ${isForUser && html`<${Field} label="Id of the user"><input name="userId" required placeholder="usr_…" autocomplete="off" /><//>`}
      <${Choices} key=${isForUser} legend="Scopes" name="scopes" values=${scopes} chosen=${scopes.filter((scope) => scope.endsWith(':read'))} />
      <span>Valid for <${Select} label="Valid for" name="seconds" options=${[[3_600, '1 hour'], [600, '10 minutes'], [86_400, '24 hours']]} /></span>
    <//>
  `
}
