// The parts that pages are built of.

import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Failure, FailureKind } from './failure.ts'
import { formatEnum, formatExactTime, formatTime } from './format.ts'
import { h, html } from './html.ts'
import type { LiveState } from './live.ts'
import type { AccountStatus, JobStatus, WebhookDeliveryStatus } from './operations.generated.ts'

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

export type IconName = keyof typeof paths

export const Icon = ({ name }: { readonly name: IconName }) => html`
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d=${paths[name]} /></svg>
`

export const Time = ({ at }: { readonly at: string | null }) =>
  at
    ? html`<time datetime=${at} title=${formatExactTime(at)}>${formatTime(at)}</time>`
    : html`<span class="soft">–</span>`

type Tone = 'good' | 'bad' | 'busy' | 'warn' | 'soft'

/** The state of a job, account or delivery, or of a webhook or key. */
export type Status =
  | JobStatus
  | AccountStatus
  | WebhookDeliveryStatus
  | 'ENABLED'
  | 'DISABLED'
  | 'ACTIVE'
  | 'REVOKED'
  | 'EXPIRED'

const tones: Readonly<Record<Status, Tone>> = {
  SUCCEEDED: 'good',
  CONNECTED: 'good',
  ENABLED: 'good',
  ACTIVE: 'good',
  FAILED: 'bad',
  REVOKED: 'bad',
  RUNNING: 'busy',
  PENDING: 'warn',
  EXPIRED: 'warn',
  CANCELLED: 'soft',
  DISABLED: 'soft',
  DISCONNECTED: 'soft',
}

/** The state of an object. Its colour repeats what the word says. */
export const Badge = ({ status }: { readonly status: Status }) =>
  html`<span class="badge ${tones[status]}">${formatEnum(status)}</span>`

export const Chips = ({ values }: { readonly values: readonly string[] }) =>
  values.map((value) => html`<span class="chip">${value}</span> `)

interface CopyButtonProps {
  readonly text: string
  readonly label?: string
  /** What is copied, if the label does not say so. */
  readonly what?: string
}

/** Copies a text. Browsers do that only on pages of this machine or with TLS. */
export function CopyButton({ text, label = 'Copy', what }: CopyButtonProps) {
  const [state, setState] = useState(label)
  const copy = async () => {
    // Without TLS there is no clipboard.
    const clipboard: Clipboard | undefined = navigator.clipboard
    const isCopied = await clipboard?.writeText(text).then(
      () => true,
      () => false,
    )
    setState(isCopied ? 'Copied' : 'Select and press Ctrl-C')
    setTimeout(() => setState(label), 2_000)
  }
  const name = state === label && what ? `${label}: ${what}` : undefined
  return html`<button type="button" class="small" aria-label=${name} onClick=${copy}>${state}</button>`
}

/** Text with line breaks, with a button that copies it. */
export const Code = ({ title, text }: { readonly title: string; readonly text: string }) => html`
  <figure class="stack tight">
    <figcaption class="line">${title}<span class="push"></span>${h(CopyButton, { text, what: title })}</figcaption>
    <pre class="box" tabindex="0" aria-label=${title}>${text}</pre>
  </figure>
`

export type Fact = readonly [name: string, value: ComponentChildren]

/** Names and values. Entries without a value are left out. */
export const Facts = ({ entries }: { readonly entries: readonly Fact[] }) => html`
  <dl class="stack tight facts">
    ${entries
      .filter(([, value]) => value !== undefined && value !== null && value !== false)
      .map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}
  </dl>
`

/** What happened, and what helps. */
const advice: Readonly<Record<FailureKind, readonly [title: string, help: string]>> = {
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

interface FailureNoteProps {
  readonly failure: Failure
  readonly onRetry?: () => void
  /** Whether it is beside content, and not instead of it. */
  readonly isSmall?: boolean
}

/** An error instead of content: what happened, what helps, and a button that tries again. */
export function FailureNote({ failure, onRetry, isSmall = false }: FailureNoteProps) {
  const wait = useCountdown(failure)
  const [title, help] = advice[failure.kind]
  return html`
    <div class="stack tight ${isSmall ? 'box error' : 'note'}" role="alert">
      <strong>${title}</strong>
      <p>${failure.kind === 'unauthenticated' ? '' : failure.message} ${help}</p>
      ${failure.requestId && html`<small>Request <code>${failure.requestId}</code></small>`}
      ${onRetry && html`<button type="button" onClick=${onRetry} disabled=${wait > 0}>Try again${wait > 0 ? ` in ${wait} s` : ''}</button>`}
    </div>
  `
}

interface ProblemProps {
  readonly title: string
  readonly text: string
  readonly children?: ComponentChildren
}

export const Problem = ({ title, text, children }: ProblemProps) => html`
  <div class="stack tight box error"><strong>${title}</strong><p>${text}</p>${children && html`<small>${children}</small>`}</div>
`

/** The seconds that a client is told to wait. */
function useCountdown(failure: Failure): number {
  const [left, setLeft] = useState(failure.retryAfter ?? 0)
  useEffect(() => setLeft(failure.retryAfter ?? 0), [failure])
  useEffect(() => {
    if (left <= 0) return
    const timer = setTimeout(() => setLeft(left - 1), 1_000)
    return () => clearTimeout(timer)
  }, [left])
  return left
}

export const Empty = ({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) => html`
  <div class="stack tight note"><strong>${title}</strong><p>${children}</p></div>
`

export const Skeleton = () => html`
  <div class="stack" role="status" aria-label="Loading">${Array.from({ length: 6 }, () => html`<span class="pulse"></span>`)}</div>
`

/** Whether changes arrive. Nothing is shown for pages that cannot follow any. */
export const Live = ({ state }: { readonly state: LiveState }) =>
  state !== 'off' &&
  html`<span class="badge ${state === 'live' ? 'good' : 'warn'}" role="status">${state === 'live' ? 'Live' : 'Reconnecting…'}</span>`

export interface Step {
  readonly title: string
  readonly at: string
  /** The id of the key that did it. */
  readonly by?: string | null | undefined
  readonly tone?: Tone | undefined
}

/** What happened when, and which key did it. */
export const Timeline = ({ steps }: { readonly steps: readonly Step[] }) => html`
  <ol class="timeline">${steps.map(
    ({ title, at, by, tone }) => html`
      <li class=${tone}><span>${title}${by && html`<small>by <code>${by}</code></small>`}</span><span class="soft">${h(Time, { at })}</span></li>
    `,
  )}</ol>
`
