// Shows below GraphiQL's result what the last answer has cost: GraphiQL shows no headers.
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
