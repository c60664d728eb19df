import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { Failure } from './failure.ts'
import { h, html } from './html.ts'
import type { QueryState } from './query.ts'
import { hrefOf, navigate } from './router.ts'
import { Badge, Empty, FailureNote, Icon, Skeleton, type Status } from './ui.ts'

interface PanelProps<Shown> {
  readonly kind: string
  readonly title: string
  /** The page of the list. */
  readonly page: string
  readonly query: QueryState<unknown>
  /** The object; nothing until it was found. */
  readonly object: Shown | null | undefined
  /** The status of the object, beside `actions`. */
  readonly status?: Status | undefined
  readonly actions?: ComponentChildren
  /** Why an action failed. */
  readonly problem?: Failure | undefined
  readonly body: (object: Shown) => ComponentChildren
}

/** The object that the address names, beside the list or, on a narrow screen, over it. Escape closes it. */
export function Panel<Shown>(props: PanelProps<Shown>) {
  const { kind, title, page, query, object, status, actions, problem, body } = props
  const { data, failure, reload } = query
  const heading = useRef<HTMLHeadingElement>(null)
  const closeHref = hrefOf(page)
  useEffect(() => {
    const before = document.activeElement
    heading.current?.focus()
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  useEffect(() => {
    const close = ({ key, target }: KeyboardEvent) => {
      const isInDialog = target instanceof Element && target.closest('dialog')
      if (key === 'Escape' && !isInDialog) navigate(closeHref)
    }
    document.addEventListener('keydown', close)
    return () => document.removeEventListener('keydown', close)
  }, [closeHref])
  return html`
    <section class="panel" aria-label=${kind}>
      <header class="line">
        <div><small>${kind}</small><h2 tabindex="-1" ref=${heading}>${title}</h2></div>
        <a class="button bare push" href=${closeHref} aria-label="Close">${h(Icon, { name: 'close' })}</a>
      </header>
      <div class="stack">
        ${failure && h(FailureNote, { failure, onRetry: reload, isSmall: Boolean(object) })}
        ${!data && !failure && !object && h(Skeleton, {})}
        ${Boolean(data) && !object && h(Empty, { title: `No ${kind.toLowerCase()} has this id` }, 'It may have been removed.')}
        ${status && html`<div class="line">${h(Badge, { status })}<span class="push"></span>${actions}</div>`}
        ${problem && h(FailureNote, { failure: problem, isSmall: true })}
        ${object && body(object)}
      </div>
    </section>
  `
}
