// The parts that pages are built of.

import { useEffect, useRef, useState } from 'preact/hooks'
import { formatEnum, formatExactTime, formatTime } from './format.js'
import { html } from './html.js'
import { hrefOf, navigate } from './router.js'

const paths = {
  users: 'M9 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM2 20a7 7 0 0 1 14 0M16 3.5a4 4 0 0 1 0 7M18 13.5a7 7 0 0 1 4 6.5',
  jobs: 'M4 5h16M4 12h16M4 19h10M18 16l3 3-3 3',
  webhooks: 'M12 8a3 3 0 1 0-3-3M10 8l-4 8M6 22a3 3 0 1 0-3-3M8 19h9M21 19a3 3 0 1 1-3-3M14 6l4 8',
  keys: 'M8 20a5 5 0 1 0 0-10 5 5 0 0 0 0 10ZM11.5 11.5 20 3M16 7l3 3',
  usage: 'M4 20V10M10 20V4M16 20v-7M21 20H3',
  close: 'M6 6l12 12M18 6 6 18',
  code: 'M8 6l-6 6 6 6M16 6l6 6-6 6',
  open: 'M14 4h6v6M20 4l-9 9M18 14v6H4V6h6',
  exit: 'M10 4H4v16h6M16 8l4 4-4 4M20 12H9',
}

export const Icon = ({ name }) => html`
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d=${paths[name]} /></svg>
`

export const Time = ({ at }) =>
  at
    ? html`<time datetime=${at} title=${formatExactTime(at)}>${formatTime(at)}</time>`
    : html`<span class="soft">–</span>`

const tones = {
  good: ['SUCCEEDED', 'CONNECTED', 'ENABLED', 'ACTIVE'],
  bad: ['FAILED', 'REVOKED'],
  busy: ['RUNNING'],
  warn: ['PENDING', 'EXPIRED'],
}

/** The state of an object. Its colour repeats what the word says. */
export function Badge({ status }) {
  const [tone = 'soft'] = Object.entries(tones).find(([, words]) => words.includes(status)) ?? []
  return html`<span class="badge ${tone}">${formatEnum(status)}</span>`
}

/** Copies a text. Browsers do that only on pages of this machine or with TLS. */
export function CopyButton({ text, label = 'Copy', what }) {
  const [state, setState] = useState(label)
  const copy = async () => {
    const copying = navigator.clipboard?.writeText(text).then(() => 'Copied')
    setState((await copying?.catch(() => undefined)) ?? 'Select and press Ctrl-C')
    setTimeout(() => setState(label), 2_000)
  }
  const name = state === label && what ? `${label}: ${what}` : undefined
  return html`<button type="button" class="small" aria-label=${name} onClick=${copy}>${state}</button>`
}

/** Text with line breaks, with a button that copies it. */
export const Code = ({ title, text }) => html`
  <figure class="stack tight">
    <figcaption class="line">${title}<span class="push"></span><${CopyButton} text=${text} what=${title} /></figcaption>
    <pre class="box" tabindex="0" aria-label=${title}>${text}</pre>
  </figure>
`

/** Names and values. Entries without a value are left out. */
export const Facts = ({ entries }) => html`
  <dl class="stack tight facts">
    ${entries
      .filter(([, value]) => value !== undefined && value !== null && value !== false)
      .map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}
  </dl>
`

const advice = {
  unauthenticated: ['This key is not valid', 'It may have expired or have been revoked. Sign in with a valid key.'],
  forbidden: ['Your key may not do this', 'Ask for a key with this scope, or sign in with another one.'],
  limited: ['Too many requests', 'A key gets new points each minute.'],
  unavailable: ['The gateway is busy or restarting', 'It is usually back within seconds.'],
  unreachable: [
    'The gateway does not respond',
    'It may be down, or your network is. If you were changing something, look whether it was changed before you try again.',
  ],
  failed: ['This did not work', ''],
  input: ['The input was rejected', ''],
}

/** An error instead of content: what happened, what helps, and a button that tries again. */
export function FailureNote({ failure, onRetry, isSmall = false }) {
  const wait = useCountdown(failure)
  const [title, help] = advice[failure.kind] ?? advice.failed
  return html`
    <div class="stack tight ${isSmall ? 'box error' : 'note'}" role="alert">
      <strong>${title}</strong>
      <p>${failure.kind === 'unauthenticated' ? '' : failure.message} ${help}</p>
      ${failure.requestId && html`<small>Request <code>${failure.requestId}</code></small>`}
      ${onRetry && html`<button type="button" onClick=${onRetry} disabled=${wait > 0}>Try again${wait > 0 ? ` in ${wait} s` : ''}</button>`}
    </div>
  `
}

export const Problem = ({ title, text, children }) => html`
  <div class="stack tight box error"><strong>${title}</strong><p>${text}</p>${children && html`<small>${children}</small>`}</div>
`

/** The seconds that a client is told to wait. */
function useCountdown(failure) {
  const [left, setLeft] = useState(failure.retryAfter ?? 0)
  useEffect(() => setLeft(failure.retryAfter ?? 0), [failure])
  useEffect(() => {
    if (left <= 0) return
    const timer = setTimeout(() => setLeft(left - 1), 1_000)
    return () => clearTimeout(timer)
  }, [left])
  return left
}

export const Empty = ({ title, children }) => html`
  <div class="stack tight note"><strong>${title}</strong><p>${children}</p></div>
`

export const Skeleton = () => html`
  <div class="stack" role="status" aria-label="Loading">${Array.from({ length: 6 }, () => html`<span class="pulse"></span>`)}</div>
`

/** A modal dialog. Escape closes it. */
function Dialog({ title, onClose, children }) {
  const dialog = useRef(null)
  useEffect(() => {
    const before = document.activeElement
    dialog.current.showModal()
    return () => before?.focus?.()
  }, [])
  return html`
    <dialog ref=${dialog} aria-label=${title} onClose=${onClose}>
      <header class="line">
        <h2>${title}</h2>
        <button type="button" class="bare push" aria-label="Close" onClick=${onClose}><${Icon} name="close" /></button>
      </header>
      ${children}
    </dialog>
  `
}

/**
 * A dialog with a form. While it is sent the button is disabled; a failure is shown in it.
 *
 * @param onSubmit gets the values of the fields
 * @param isDone whether there is nothing to send any more
 */
export function FormDialog({ title, action = title, isDangerous, isDone, onClose, onSubmit, children }) {
  const [failure, setFailure] = useState()
  const [isSending, setSending] = useState(false)
  const submit = async (event) => {
    event.preventDefault()
    setSending(true)
    setFailure(undefined)
    await onSubmit(new FormData(event.target)).catch(setFailure)
    setSending(false)
  }
  return html`
    <${Dialog} title=${title} onClose=${onClose}>
      <form class="stack" onSubmit=${submit}>
        ${children} ${failure && html`<${FailureNote} failure=${failure} isSmall />`}
        <footer class="line">
          <button type="button" class="push" onClick=${onClose}>Close</button>
          <button class=${isDangerous ? 'danger' : 'primary'} disabled=${isSending || isDone}>${action}</button>
        </footer>
      </form>
    <//>
  `
}

/** A secret that is shown only once. */
export const SecretDialog = ({ title, secret, children, onClose }) => html`
  <${Dialog} title=${title} onClose=${onClose}>
    <div class="stack">
      <p>${children} It is shown only now.</p>
      <${Code} title="Secret" text=${secret} />
      <footer class="line"><button type="button" class="primary push" onClick=${onClose}>Done</button></footer>
    </div>
  <//>
`

export const Field = ({ label, hint, children }) => html`
  <label class="stack tight field"><span>${label}</span>${children}${hint && html`<small>${hint}</small>`}</label>
`

/** Several values of a list. */
export const Choices = ({ legend, name, values, chosen = values }) => html`
  <fieldset>
    <legend>${legend}</legend>
    ${values.map((each) => html`<label><input type="checkbox" name=${name} value=${each} defaultChecked=${chosen.includes(each)} /> ${each}</label>`)}
  </fieldset>
`

/** One of some values: pairs of a value and its label. */
export const Select = ({ label, options, value, onChange, name }) => html`
  <label><span class="hidden">${label}</span>
    <select name=${name} value=${value} onChange=${({ target }) => onChange?.(target.value)}>
      ${options.map(([each, text]) => html`<option value=${each}>${text}</option>`)}
    </select>
  </label>
`

/** One of some views: pairs of a value and its label. */
export const Tabs = ({ label, options, value, onChange }) => html`
  <div class="line tabs" role="group" aria-label=${label}>
    ${options.map(([each, text]) => html`<button type="button" aria-pressed=${each === value} onClick=${() => onChange(each)}>${text}</button>`)}
  </div>
`

/**
 * The object that the address names, beside the list or, on a narrow screen, over it. Escape closes it.
 *
 * @param query the result of `useQuery`
 * @param status the status of the object, beside `actions`, and above their `problem`
 * @param object undefined until it was found; `body` renders it
 */
export function Panel({ kind, title, page, query: { data, failure, reload }, status, actions, problem, object, body }) {
  const heading = useRef(null)
  const closeHref = hrefOf(page)
  useEffect(() => {
    const before = document.activeElement
    heading.current.focus()
    return () => before?.isConnected && before.focus()
  }, [])
  useEffect(() => {
    const close = ({ key, target }) => key === 'Escape' && !target.closest('dialog') && navigate(closeHref)
    document.addEventListener('keydown', close)
    return () => document.removeEventListener('keydown', close)
  }, [closeHref])
  return html`
    <section class="panel" aria-label=${kind}>
      <header class="line">
        <div><small>${kind}</small><h2 tabindex="-1" ref=${heading}>${title}</h2></div>
        <a class="button bare push" href=${closeHref} aria-label="Close"><${Icon} name="close" /></a>
      </header>
      <div class="stack">
        ${failure && html`<${FailureNote} failure=${failure} onRetry=${reload} isSmall=${Boolean(object)} />`}
        ${!data && !failure && !object && html`<${Skeleton} />`}
        ${data && !object && html`<${Empty} title=${`No ${kind.toLowerCase()} has this id`}>It may have been removed.<//>`}
        ${status && html`<div class="line"><${Badge} status=${status} /><span class="push"></span>${actions}</div>`}
        ${problem && html`<${FailureNote} failure=${problem} isSmall />`}
        ${object && body()}
      </div>
    </section>
  `
}

/** Whether changes arrive. Nothing is shown for pages that cannot follow any. */
export const Live = ({ state }) =>
  state &&
  state !== 'off' &&
  html`<span class="badge ${state === 'live' ? 'good' : 'warn'}" role="status">${state === 'live' ? 'Live' : 'Reconnecting…'}</span>`

/** What happened when, and which key did it. */
export const Timeline = ({ steps }) =>
  html`<ol class="timeline">${steps.map((step) => html`<${Step} ...${step} />`)}</ol>`

const Step = ({ title, at, by, tone }) => html`
  <li class=${tone}><span>${title}${by && html`<small>by <code>${by}</code></small>`}</span><span class="soft"><${Time} at=${at} /></span></li>
`
