// The console: who is signed in, which pages they can open, and the page of the address.

import { type ComponentChildren, render, type TargetedEvent } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { run } from './client.ts'
import { type Failure, failureOf } from './failure.ts'
import { Field, textOf } from './forms.ts'
import { h, html, useStore } from './html.ts'
import { JobsPage } from './jobs.ts'
import { KeysPage } from './keys.ts'
import { OperationBar } from './operation-bar.ts'
import { type Scope, viewerQuery } from './operations.generated.ts'
import { operations } from './operations.ts'
import { hrefOf, navigate, root, useRoute } from './router.ts'
import { can, notice, signIn, signOut, type Viewer, viewer } from './session.ts'
import { Empty, FailureNote, Icon, type IconName, Skeleton } from './ui.ts'
import { UsagePage } from './usage.ts'
import { UsersPage } from './users.ts'
import { WebhooksPage } from './webhooks.ts'

const element = document.getElementById('console')

interface Page {
  readonly name: IconName
  readonly title: string
  readonly component: (props: object) => ComponentChildren
  /** One of these is needed. */
  readonly scopes: readonly Scope[]
}

const pages: readonly Page[] = [
  { name: 'users', title: 'Users', component: UsersPage, scopes: ['users:read'] },
  { name: 'jobs', title: 'Jobs', component: JobsPage, scopes: ['jobs:read'] },
  { name: 'webhooks', title: 'Webhooks', component: WebhooksPage, scopes: ['webhooks:write'] },
  { name: 'keys', title: 'Keys', component: KeysPage, scopes: ['keys:write', 'tokens:create'] },
  { name: 'usage', title: 'Usage', component: UsagePage, scopes: ['usage:read'] },
]

function App() {
  const signedIn = useStore(viewer)
  if (signedIn === null) return h(SignIn, {})
  if (signedIn === undefined) return h(Resume, {})
  return h(Shell, { signedIn })
}

/** Reads the viewer of a credential that the session has. */
function Resume() {
  const [failure, setFailure] = useState<Failure>()
  const load = () => {
    setFailure(undefined)
    run(viewerQuery, {}).then(
      ({ viewer: found }) => viewer.set(found),
      (error: unknown) => setFailure(failureOf(error)),
    )
  }
  useEffect(load, [])
  return html`<main class="alone">
    <h1 class="hidden">Console</h1>
    ${failure ? h(FailureNote, { failure, onRetry: load }) : h(Skeleton, {})}
  </main>`
}

function SignIn() {
  const reason = useStore(notice)
  const [failure, setFailure] = useState<Failure>()
  const [isSending, setSending] = useState(false)
  const demoKey = element?.dataset['key']
  const submit = async (event: TargetedEvent<HTMLFormElement>) => {
    event.preventDefault()
    setSending(true)
    setFailure(undefined)
    const credential = textOf(new FormData(event.currentTarget), 'credential')
    try {
      const { viewer: found } = await run(viewerQuery, {}, { credential })
      operations.set([])
      signIn(credential, found)
    } catch (error) {
      setFailure(failureOf(error))
      setSending(false)
    }
  }
  const input = html`<input name="credential" type="password" required pattern="\\s*[!-~]+\\s*" title="A key has no spaces and only letters of ASCII" autocomplete="off" spellcheck="false" defaultValue=${demoKey} />`
  const hint = 'It stays in this window, and is sent only to this gateway.'
  return html`
    <main class="alone">
      <form class="stack" onSubmit=${submit}>
        <img src=${`${root}favicon.svg`} alt="" />
        <h1>Fusion Gateway console</h1>
        <p class="soft">${reason || 'See the users, jobs and webhooks of your tenant. You see what your key may read.'}</p>
        ${h(Field, { label: 'API key or access token', hint }, input)}
        ${failure && h(FailureNote, { failure, isSmall: true })}
        <button class="primary" disabled=${isSending}>${isSending ? 'Signing in…' : 'Sign in'}</button>
        ${demoKey && html`<p class="soft">The key of the demo tenant is filled in. Only this machine gets it.</p>`}
        <p class="soft"><a href=${root}>Start page</a> · <a href=${`${root}guides`}>Guides</a> · <a href=${`${root}docs`}>REST reference</a></p>
      </form>
    </main>
  `
}

function Shell({ signedIn }: { readonly signedIn: Viewer }) {
  const { page: name } = useRoute()
  const allowed = pages.filter(({ scopes }) => scopes.some(can))
  const page = pages.find((each) => each.name === name)
  useEffect(() => {
    const [first] = allowed
    if (name === '' && first) navigate(hrefOf(first.name, undefined, {}), { replace: true })
  }, [name])
  useEffect(() => {
    document.title = `${page?.title ?? 'Console'} · ${signedIn.tenantApp.name} · Fusion Gateway`
  }, [page])
  return html`
    <div class="shell">
      <header class="side">
        <a class="line brand" href=${root} title="Start page"><img src=${`${root}favicon.svg`} alt="" /><span>Fusion Gateway<small>${signedIn.tenantApp.name}</small></span></a>
        <nav aria-label="Console">
          ${allowed.map(
            (each) => html`
              <a class="line" href=${hrefOf(each.name, undefined, {})} aria-current=${each === page ? 'page' : undefined}>${h(Icon, { name: each.name })}${each.title}</a>
            `,
          )}
        </nav>
        <div class="line soft viewer">
          <span title=${signedIn.scopes.join(', ')}>${h(Icon, { name: 'keys' })} ${signedIn.keyName}</span>
          <button type="button" class="bare push" onClick=${() => signOut()} aria-label="Sign out" title="Sign out">${h(Icon, { name: 'exit' })}</button>
        </div>
      </header>
      <main id="main" tabindex="-1">
        ${page && allowed.includes(page) ? h(page.component, { key: name }) : h(Nothing, { name, page })}
        ${h(OperationBar, {})}
      </main>
    </div>
  `
}

/** Instead of a page that does not exist or that the key may not open. */
function Nothing({ name, page }: { readonly name: string; readonly page: Page | undefined }) {
  const help = page ? `It needs the scope ${page.scopes.join(' or ')}.` : 'Choose a page of the menu.'
  const reason = page || name === '' ? 'Your key may not open this page' : 'There is no such page'
  return [html`<h1 class="hidden">${page?.title ?? 'Console'}</h1>`, h(Empty, { title: reason }, help)]
}

if (element) render(h(App, {}), element)
