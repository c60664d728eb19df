import { useState } from 'preact/hooks'
import { mutate } from './client.ts'
import { Choices, Field, FormDialog, type Option, Select, textOf } from './forms.ts'
import { h, html } from './html.ts'
import { createAccessTokenMutation, createApiKeyMutation, userScopes } from './operations.generated.ts'
import { hrefOf, navigate, oneOf } from './router.ts'
import { viewer } from './session.ts'

/** A key or token, which is shown once. */
export interface NewSecret {
  readonly title: string
  readonly help: string
  readonly value: string
}

interface NewSecretProps {
  readonly onClose: () => void
  readonly onDone: (created: NewSecret) => void
}

const scopesOf = (form: FormData) => form.getAll('scopes').map(String)

const daysFromNow = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString()
const lifetimes: readonly Option[] = [
  ['', 'With your key'],
  ['1', 'In a day'],
  ['30', 'In 30 days'],
  ['365', 'In a year'],
]

export function NewKey({ onClose, onDone }: NewSecretProps) {
  const submit = async (form: FormData) => {
    const days = textOf(form, 'days')
    const { apiKey, key } = await mutate(createApiKeyMutation, {
      name: textOf(form, 'name'),
      scopes: scopesOf(form),
      ...(days && { expiresAt: daysFromNow(Number(days)) }),
    })
    if (!apiKey || !key) return
    navigate(hrefOf('keys', apiKey.id))
    onDone({ title: 'New key', help: 'Send the key in the header x-api-key.', value: key })
  }
  const name = html`<input name="name" required maxlength="200" autocomplete="off" />`
  return h(
    FormDialog,
    { title: 'New key', action: 'Create key', onClose, onSubmit: submit },
    h(Field, { label: 'Name', hint: 'Such as the program that will use it.' }, name),
    h(Choices, { legend: 'Scopes', name: 'scopes', values: viewer.get()?.scopes ?? [] }),
    html`<span>Expires ${h(Select, { label: 'Expires', name: 'days', options: lifetimes })}</span>`,
  )
}

const audiences: readonly Option[] = [
  ['yes', 'one user'],
  ['', 'the tenant'],
]
const durations: readonly Option[] = [
  [3_600, '1 hour'],
  [600, '10 minutes'],
  [86_400, '24 hours'],
]

export function NewToken({ onClose, onDone }: NewSecretProps) {
  const [isForUser, setForUser] = useState('yes')
  const scopes = viewer.get()?.scopes.filter((scope) => !isForUser || oneOf(userScopes, scope)) ?? []
  const submit = async (form: FormData) => {
    const userId = textOf(form, 'userId')
    const { accessToken } = await mutate(createAccessTokenMutation, {
      scopes: scopesOf(form),
      expiresInSeconds: Number(form.get('seconds')),
      ...(userId && { userId }),
    })
    if (!accessToken) return
    onDone({ title: 'New access token', help: 'Send the token as “Authorization: Bearer …”.', value: accessToken })
  }
  const user = html`<input name="userId" required placeholder="usr_…" autocomplete="off" />`
  const chosen = scopes.filter((scope) => scope.endsWith(':read'))
  return h(
    FormDialog,
    { title: 'New access token', action: 'Create token', onClose, onSubmit: submit },
    html`<span>Sees ${h(Select, { label: 'Sees', value: isForUser, options: audiences, onChange: setForUser })}</span>`,
    isForUser && h(Field, { label: 'Id of the user' }, user),
    h(Choices, { key: isForUser, legend: 'Scopes', name: 'scopes', values: scopes, chosen }),
    html`<span>Valid for ${h(Select, { label: 'Valid for', name: 'seconds', options: durations })}</span>`,
  )
}
