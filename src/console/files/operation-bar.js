// The line below each page: the GraphQL operation behind it, and what it cost.

import { useState } from 'preact/hooks'
import { html, useStore } from './html.js'
import { curlOf, graphiqlUrl, operations } from './operations.js'
import { CopyButton, Icon } from './ui.js'

const hasGraphiql = document.getElementById('console').hasAttribute('data-graphiql')

/** What pages read besides the object or list that they show. */
const besides = /History$|^JobStats$|^Platforms$|^Matching$/

export function OperationBar() {
  const [isOpen, setOpen] = useState(false)
  const [chosen, choose] = useState()
  const all = useStore(operations)
  if (all.length === 0) return null
  const main = all.find(({ type, name }) => type !== 'subscription' && !besides.test(name))
  const operation = all.find(({ query }) => query === chosen) ?? main ?? all[0]
  const onKeyDown = (event) => {
    if (event.key !== 'Escape') return
    event.stopPropagation()
    setOpen(false)
  }
  return html`
    <section class="operations" aria-label="GraphQL" onKeyDown=${onKeyDown}>
      <div class="line bar">
        <button type="button" class="bare" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>
          <${Icon} name="code" /> <span class="busy">${operation.type}</span> ${operation.name}
        </button>
        <span class="soft">${operation.facts}</span><span class="push"></span>
        ${
          hasGraphiql &&
          html`<a href=${graphiqlUrl(operation)} target="_blank" rel="opener">Open in GraphiQL <${Icon} name="open" /></a>`
        }
      </div>
      ${isOpen && html`<${Details} ...${{ all, operation, choose }} />`}
    </section>
  `
}

const Details = ({ all, operation, choose }) => html`
  <div class="details">
    <div class="stack tight names">
      ${all.map(
        (each) => html`
          <button type="button" class="bare" aria-pressed=${each === operation} onClick=${() => choose(each.query)}>
            <span class="busy">${each.type}</span> ${each.name}<small>${each.facts}</small>
          </button>
        `,
      )}
    </div>
    <div class="stack">
      <p class="line">
        <${CopyButton} text=${operation.query} label="Copy query" />
        <${CopyButton} text=${curlOf(operation)} label="Copy as curl" />
      </p>
      <pre class="box" tabindex="0" aria-label="Operation">${highlight(operation.query)}</pre>
      <pre class="box" tabindex="0" aria-label="Variables">${JSON.stringify(operation.variables, null, 2)}</pre>
    </div>
  </div>
`

const token = /(\b(?:query|mutation|subscription|on)\b)|(\$\w+)|(@\w+)|(\b[A-Z]\w*\b)/g

/** The text with its keywords, variables, directives and types marked. */
function highlight(text) {
  const parts = []
  let end = 0
  for (const match of text.matchAll(token)) {
    const kind = ['busy', 'warn', 'bad', 'good'][match.slice(1).findIndex(Boolean)]
    parts.push(text.slice(end, match.index), html`<span class=${kind}>${match[0]}</span>`)
    end = match.index + match[0].length
  }
  return [...parts, text.slice(end)]
}
