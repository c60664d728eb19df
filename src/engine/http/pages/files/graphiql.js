// Adds features that GraphiQL lacks. Runs before GraphiQL.

/** The API key that the header editor opens with. */
const { key } = document.currentScript.dataset

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
