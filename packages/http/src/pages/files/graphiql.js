// Adds features that GraphiQL lacks. Runs before GraphiQL.

// The console links to an operation in the fragment of the address. Its credential is in the session of the window, and
// not stored.
const fragment = new URLSearchParams(location.hash.slice(1))
const credential = fragment.has('query') && sessionStorage.getItem('fusion:credential')
const header = /^eyJ/.test(credential) ? { authorization: `Bearer ${credential}` } : { 'x-api-key': credential }
const linked = {
  'graphiql:query': fragment.get('query'),
  'graphiql:variables': fragment.get('variables'),
  'graphiql:headers': credential && JSON.stringify(header, null, 2),
}

const { getItem } = Storage.prototype
Storage.prototype.getItem = function (name) {
  return linked[name] || getItem.call(this, name)
}

// GraphiQL shows no headers. This shows the cost of the last response below the result.
const { fetch: send } = window
window.fetch = async (...request) => {
  if (request[1]) request[1].headers = { 'graphql-client-name': 'GraphiQL', ...request[1].headers }
  const startedAt = performance.now()
  const response = await send(...request)
  const body = request[1]?.body
  if (typeof body === 'string' && !body.includes('IntrospectionQuery')) {
    showCost(response, Math.round(performance.now() - startedAt))
  }
  return response
}

function showCost({ status, headers }, milliseconds) {
  const cost = headers.get('x-cost')
  const statements = /db;desc="([^"]+)"/.exec(headers.get('server-timing') ?? '')?.[1]
  const parts = [
    `Status ${status}`,
    `${milliseconds} ms`,
    cost && `${cost} ${cost === '1' ? 'point' : 'points'}`,
    statements && `SQL: ${statements}`,
  ]
  showFacts(parts)
}

function showFacts(parts) {
  let shown = document.getElementById('cost')
  if (!shown) {
    shown = document.createElement('p')
    shown.id = 'cost'
    shown.role = 'status'
    document.body.append(shown)
  }
  shown.textContent = parts.filter(Boolean).join(' · ')
}

// The link before GraphiQL leads to the editor, and not to the tabs and buttons before it.
document.addEventListener('click', (event) => {
  if (!event.target.matches('.skip')) return
  event.preventDefault()
  document.querySelector('.graphiql-query-editor :is(textarea, .native-edit-context)')?.focus()
})

// GraphiQL's tabs are list items with two buttons. For keyboards and screen readers, the first button is the tab, and
// the other one is for the mouse.
function adaptTabs(list) {
  for (const item of list.querySelectorAll('.graphiql-tab')) {
    const isSelected = item.classList.contains('graphiql-tab-active')
    const [tab, close] = item.querySelectorAll('button')
    item.role = 'presentation'
    item.removeAttribute('aria-selected')
    Object.assign(tab, { role: 'tab', ariaSelected: isSelected, tabIndex: isSelected ? 0 : -1 })
    tab.setAttribute('aria-keyshortcuts', 'Delete')
    if (close) Object.assign(close, { ariaHidden: true, tabIndex: -1, title: 'Close (Delete)' })
  }
}
const untilRendered = new MutationObserver(() => {
  const list = document.querySelector('.graphiql-tabs')
  if (!list) return
  untilRendered.disconnect()
  adaptTabs(list)
  const changes = { childList: true, subtree: true, attributeFilter: ['class'] }
  new MutationObserver(() => adaptTabs(list)).observe(list, changes)
})
untilRendered.observe(document, { childList: true, subtree: true })

// One tab is in the tab order. The arrow keys open the others, and Delete closes one.
// https://www.w3.org/WAI/ARIA/apg/patterns/tabs/
document.addEventListener('keydown', ({ target, key }) => {
  if (!target.matches('[role=tab]')) return
  const tabs = [...document.querySelectorAll('[role=tab]')]
  const at = tabs.indexOf(target)
  const next = { ArrowLeft: at - 1, ArrowRight: (at + 1) % tabs.length, Home: 0, End: -1 }[key]
  if (key === 'Delete') target.parentElement.querySelector('.graphiql-tab-close')?.click()
  else if (next === undefined) return
  else tabs.at(next).click()
  // After GraphiQL has rendered.
  requestAnimationFrame(() => document.querySelector('[role=tab][aria-selected=true]').focus())
})
