// The console: who is signed in, which pages they can open, and the page of the address.

import { render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { run } from './client.js'
import { html, useStore } from './html.js'
import { JobsPage } from './jobs.js'
import { KeysPage } from './keys.js'
import { OperationBar } from './operation-bar.js'
import { operations } from './operations.js'
import { hrefOf, navigate, useRoute } from './router.js'
import { can, notice, signIn, signOut, viewer } from './session.js'
import { Empty, FailureNote, Field, Icon, Skeleton } from './ui.js'
import { UsagePage } from './usage.js'
import { UsersPage } from './users.js'
import { WebhooksPage } from './webhooks.js'

const root = document.getElementById('console')

/** The pages, and the scopes of which each needs one. */
const pages = {
  users: { title: 'Users', Page: UsersPage, scopes: ['users:read'] },
  jobs: { title: 'Jobs', Page: JobsPage, scopes: ['jobs:read'] },
  webhooks: { title: 'Webhooks', Page: WebhooksPage, scopes: ['webhooks:write'] },
  keys: { title: 'Keys', Page: KeysPage, scopes: ['keys:write', 'tokens:create'] },
  usage: { title: 'Usage', Page: UsagePage, scopes: ['usage:read'] },
}

const viewerQuery = `query Viewer {
  viewer { keyName scopes tenantApp { id name } }
}`

function App() {
  const signedIn = useStore(viewer)
  if (signedIn === null) return html`<${SignIn} />`
  if (signedIn === undefined) return html`<${Resume} />`
  return html`<${Shell} signedIn=${signedIn} />`
}

/** Reads the viewer of a credential that the session has. */
function Resume() {
  const [failure, setFailure] = useState()
  const load = () => {
    setFailure(undefined)
    run(viewerQuery).then(({ viewer: found }) => viewer.set(found), setFailure)
  }
  useEffect(load, [])
  return html`<main class="alone">
    <h1 class="hidden">Console</h1>
    ${failure ? html`<${FailureNote} failure=${failure} onRetry=${load} />` : html`<${Skeleton} />`}
  </main>`
}

function SignIn() {
  const reason = useStore(notice)
  const [failure, setFailure] = useState()
  const [isSending, setSending] = useState(false)
  const demoKey = root.dataset.key
  const submit = async (event) => {
    event.preventDefault()
    setSending(true)
    setFailure(undefined)
    const credential = new FormData(event.target).get('credential').trim()
    try {
      const { viewer: found } = await run(viewerQuery, {}, { credential })
      operations.set([])
      signIn(credential, found)
    } catch (error) {
      setFailure(error)
      setSending(false)
    }
  }
  return html`
    <main class="alone">
      <form class="stack" onSubmit=${submit}>
        <img src="/favicon.svg" alt="" />
        <h1>Fusion Gateway console</h1>
        <p class="soft">${reason || 'See the users, jobs and webhooks of your tenant. You see what your key may read.'}</p>
        <${Field} label="API key or access token" hint="It stays in this window, and is sent only to this gateway.">
          <input name="credential" type="password" required pattern="\\s*[!-~]+\\s*" title="A key has no spaces and only letters of ASCII" autocomplete="off" spellcheck="false" defaultValue=${demoKey} />
        <//>
        ${failure && html`<${FailureNote} failure=${failure} isSmall />`}
        <button class="primary" disabled=${isSending}>${isSending ? 'Signing in…' : 'Sign in'}</button>
        ${demoKey && html`<p class="soft">The key of the demo tenant is filled in. Only this machine gets it.</p>`}
        <p class="soft"><a href="/">Start page</a> · <a href="/guides">Guides</a> · <a href="/docs">REST reference</a></p>
      </form>
    </main>
  `
}

function Shell({ signedIn }) {
  const { page } = useRoute()
  const allowed = Object.entries(pages).filter(([, { scopes }]) => scopes.some(can))
  const { title, Page, scopes } = pages[page] ?? {}
  useEffect(() => {
    const [first] = allowed
    if (page === '' && first) navigate(hrefOf(first[0], undefined, {}), { replace: true })
  }, [page])
  useEffect(() => {
    document.title = `${title ?? 'Console'} · ${signedIn.tenantApp.name} · Fusion Gateway`
  }, [title])
  return html`
    <div class="shell">
      <header class="side">
        <a class="line brand" href="/" title="Start page"><img src="/favicon.svg" alt="" /><span>Fusion Gateway<small>${signedIn.tenantApp.name}</small></span></a>
        <nav aria-label="Console">
          ${allowed.map(
            ([name, { title: label }]) => html`
              <a class="line" href=${hrefOf(name, undefined, {})} aria-current=${name === page ? 'page' : undefined}><${Icon} name=${name} />${label}</a>
            `,
          )}
        </nav>
        <div class="line soft viewer">
          <span title=${signedIn.scopes.join(', ')}><${Icon} name="keys" /> ${signedIn.keyName}</span>
          <button type="button" class="bare push" onClick=${() => signOut()} aria-label="Sign out" title="Sign out"><${Icon} name="exit" /></button>
        </div>
      </header>
      <main id="main" tabindex="-1">
        ${Page && scopes.some(can) ? html`<${Page} key=${page} />` : html`<${Nothing} ...${{ page, title, scopes }} />`}
        <${OperationBar} />
      </main>
    </div>
  `
}

/** Instead of a page that does not exist or that the key may not open. */
function Nothing({ page, title = 'Console', scopes }) {
  const help = scopes ? `It needs the scope ${scopes.join(' or ')}.` : 'Choose a page of the menu.'
  const reason = scopes || page === '' ? 'Your key may not open this page' : 'There is no such page'
  return html`<h1 class="hidden">${title}</h1><${Empty} title=${reason}>${help}<//>`
}

render(html`<${App} />`, root)
