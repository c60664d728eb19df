// Adds features that GraphiQL lacks. Runs before GraphiQL.

/** The API key that the header editor opens with. */
const { key } = document.currentScript.dataset

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

// The history would store keys in the browser. A stored key would outlive the database that it belongs to.
const { getItem, setItem } = Storage.prototype
const secret = /(?<="(?:x-api-key|authorization)"\s*:\s*")[^"]*/gi

Storage.prototype.setItem = function (name, value) {
  setItem.call(
    this,
    name,
    isHistory(name) ? mapHeaders(value, (headers) => headers.replace(secret, '<API_KEY>')) : value,
  )
}
Storage.prototype.getItem = function (name) {
  if (linked[name]) return linked[name]
  const value = getItem.call(this, name)
  return value && isHistory(name) ? mapHeaders(value, (headers) => headers.replace('<API_KEY>', key)) : value
}

function isHistory(name) {
  return name === 'graphiql:queries' || name === 'graphiql:favorites'
}

function mapHeaders(text, change) {
  return JSON.stringify(JSON.parse(text), (name, value) =>
    name === 'headers' && typeof value === 'string' ? change(value) : value,
  )
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

// One tab is in the tab order. The arrow keys open the others, and Delete closes one.
// https://www.w3.org/WAI/ARIA/apg/patterns/tabs/
document.addEventListener('keydown', ({ target, key: pressed }) => {
  if (!target.matches('[role=tab]')) return
  const tabs = [...document.querySelectorAll('[role=tab]')]
  const at = tabs.indexOf(target)
  const next = { ArrowLeft: at - 1, ArrowRight: (at + 1) % tabs.length, Home: 0, End: -1 }[pressed]
  if (pressed === 'Delete') target.parentElement.querySelector('.graphiql-tab-close')?.click()
  else if (next === undefined) return
  else tabs.at(next).click()
  // After GraphiQL has rendered.
  requestAnimationFrame(() => document.querySelector('[role=tab][aria-selected=true]').focus())
})
