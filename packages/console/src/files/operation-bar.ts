// The line below each page: the GraphQL operation behind it, and what it cost.

import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { h, html, useStore } from './html.ts'
import { curlOf, graphiqlUrl, operations, type SentOperation } from './operations.ts'
import { CopyButton, Icon } from './ui.ts'

const hasGraphiql = document.getElementById('console')?.hasAttribute('data-graphiql')

/** What pages read besides the object or list that they show. */
const besides = /^ProfileTimes$|^LastDay$|^Platforms$|^MatchingJobs$/

export function OperationBar() {
  const [isOpen, setOpen] = useState(false)
  const [chosen, choose] = useState<string>()
  const all = useStore(operations)
  const main = all.find(({ name }) => !besides.test(name))
  const operation = all.find(({ query }) => query === chosen) ?? main ?? all[0]
  if (!operation) return null
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Escape') return
    event.stopPropagation()
    setOpen(false)
  }
  const graphiql =
    hasGraphiql &&
    html`<a href=${graphiqlUrl(operation)} target="_blank" rel="opener">Open in GraphiQL ${h(Icon, { name: 'open' })}</a>`
  return html`
    <section class="operations" aria-label="GraphQL" onKeyDown=${onKeyDown}>
      <div class="line bar">
        <button type="button" class="bare" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>
          ${h(Icon, { name: 'code' })} <span class="busy">${operation.type}</span> ${operation.name}
        </button>
        <span class="soft">${operation.facts}</span><span class="push"></span>
        ${graphiql}
      </div>
      ${isOpen && h(Details, { all, operation, choose })}
    </section>
  `
}

interface DetailsProps {
  readonly all: readonly SentOperation[]
  readonly operation: SentOperation
  readonly choose: (query: string) => void
}

const Details = ({ all, operation, choose }: DetailsProps) => html`
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
        ${h(CopyButton, { text: operation.query, label: 'Copy query' })}
        ${h(CopyButton, { text: curlOf(operation), label: 'Copy as curl' })}
      </p>
      <pre class="box" tabindex="0" aria-label="Operation">${highlight(operation.query)}</pre>
      <pre class="box" tabindex="0" aria-label="Variables">${JSON.stringify(operation.variables, null, 2)}</pre>
    </div>
  </div>
`

const token = /(\b(?:query|mutation|subscription|fragment|on)\b)|(\$\w+)|(@\w+)|(\b[A-Z]\w*\b)/g

/** The text with its keywords, variables, directives and types marked. */
function highlight(text: string): ComponentChildren[] {
  const parts: ComponentChildren[] = []
  let end = 0
  for (const match of text.matchAll(token)) {
    const kind = ['busy', 'warn', 'bad', 'good'][match.slice(1).findIndex(Boolean)]
    parts.push(text.slice(end, match.index), html`<span class=${kind}>${match[0]}</span>`)
    end = match.index + match[0].length
  }
  parts.push(text.slice(end))
  return parts
}
