// Dialogs, and the fields of forms.

import type { ComponentChildren, TargetedEvent } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { type Failure, failureOf } from './failure.ts'
import { h, html } from './html.ts'
import { Code, FailureNote, Icon } from './ui.ts'

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  readonly children?: ComponentChildren
}

/** A modal dialog. Escape closes it. */
function Dialog({ title, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const before = document.activeElement
    dialog.current?.showModal()
    return () => {
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  return html`
    <dialog ref=${dialog} aria-label=${title} onClose=${onClose}>
      <header class="line">
        <h2>${title}</h2>
        <button type="button" class="bare push" aria-label="Close" onClick=${onClose}>${h(Icon, { name: 'close' })}</button>
      </header>
      ${children}
    </dialog>
  `
}

interface FormDialogProps extends DialogProps {
  /** The text of the button. By default the title. */
  readonly action?: string
  readonly isDangerous?: boolean
  /** Whether there is nothing to send any more. */
  readonly isDone?: boolean
  /** Gets the values of the fields. */
  readonly onSubmit: (form: FormData) => Promise<unknown>
}

/** A dialog with a form. While it is sent the button is disabled; a failure is shown in it. */
export function FormDialog(props: FormDialogProps) {
  const { title, action = title, isDangerous, isDone, onClose, onSubmit, children } = props
  const [failure, setFailure] = useState<Failure>()
  const [isSending, setSending] = useState(false)
  const submit = async (event: TargetedEvent<HTMLFormElement>) => {
    event.preventDefault()
    setSending(true)
    setFailure(undefined)
    await onSubmit(new FormData(event.currentTarget)).catch((error: unknown) => setFailure(failureOf(error)))
    setSending(false)
  }
  const form = html`
    <form class="stack" onSubmit=${submit}>
      ${children} ${failure && h(FailureNote, { failure, isSmall: true })}
      <footer class="line">
        <button type="button" class="push" onClick=${onClose}>Close</button>
        <button class=${isDangerous ? 'danger' : 'primary'} disabled=${isSending || isDone}>${action}</button>
      </footer>
    </form>
  `
  return h(Dialog, { title, onClose }, form)
}

/** A secret that is shown only once. */
export function SecretDialog({ title, secret, children, onClose }: DialogProps & { readonly secret: string }) {
  const content = html`
    <div class="stack">
      <p>${children} It is shown only now.</p>
      ${h(Code, { title: 'Secret', text: secret })}
      <footer class="line"><button type="button" class="primary push" onClick=${onClose}>Done</button></footer>
    </div>
  `
  return h(Dialog, { title, onClose }, content)
}

interface FieldProps {
  readonly label: string
  readonly hint?: string
  readonly children?: ComponentChildren
}

export const Field = ({ label, hint, children }: FieldProps) => html`
  <label class="stack tight field"><span>${label}</span>${children}${hint && html`<small>${hint}</small>`}</label>
`

interface ChoicesProps {
  readonly legend: string
  readonly name: string
  readonly values: readonly string[]
  /** The values that are chosen at first. By default all. */
  readonly chosen?: readonly string[]
}

/** Several values of a list. */
export const Choices = ({ legend, name, values, chosen = values }: ChoicesProps) => html`
  <fieldset>
    <legend>${legend}</legend>
    ${values.map((each) => html`<label><input type="checkbox" name=${name} value=${each} defaultChecked=${chosen.includes(each)} /> ${each}</label>`)}
  </fieldset>
`

/** A value and its label. */
export type Option = readonly [value: string | number, label: ComponentChildren]

interface SelectProps {
  readonly label: string
  readonly options: readonly Option[]
  readonly value?: string | number
  readonly onChange?: (value: string) => void
  readonly name?: string
}

/** One of some values. */
export function Select({ label, options, value, onChange, name }: SelectProps) {
  const change = ({ currentTarget }: TargetedEvent<HTMLSelectElement>) => onChange?.(currentTarget.value)
  return html`
    <label><span class="hidden">${label}</span>
      <select name=${name} value=${value} onChange=${change}>
        ${options.map(([each, text]) => html`<option value=${each}>${text}</option>`)}
      </select>
    </label>
  `
}

interface TabsProps {
  readonly label: string
  readonly options: readonly Option[]
  readonly value: string
  readonly onChange: (value: string) => void
}

/** One of some views. */
export const Tabs = ({ label, options, value, onChange }: TabsProps) => html`
  <div class="line tabs" role="group" aria-label=${label}>
    ${options.map(([each, text]) => html`<button type="button" aria-pressed=${each === value} onClick=${() => onChange(String(each))}>${text}</button>`)}
  </div>
`

/** The text of a field, trimmed. */
export const textOf = (form: FormData, name: string): string => String(form.get(name) ?? '').trim()
