import { type Action, type ClientOptions, createAction } from '@fusion-gateway/client'
import { createTokens } from '@fusion-gateway/client/tokens'
import { createForm } from '../../../examples/frontends/form.ts'
import type { DocumentName } from './documents.ts'

/** What a page shows of a query or an event, or after a mutation. */
export interface Shown {
  readonly data?: unknown
  /** The codes of the errors. An error without a code has its message. */
  readonly errors: readonly string[]
}

/** What a library returns or throws. */
interface Outcome {
  readonly data?: unknown
  readonly error?: unknown
}

/** A query that a page shows. */
export interface View {
  /** Shows the query with other variables, as a search field does while a person types. */
  change(variables: object): void
  /** Loads the next page of its list. Clients without a cache have none. */
  more?(): Promise<unknown>
  /** The code of the error for which a field is null. */
  withheld(path: string): string | undefined
  hide(): void
}

/** A client library, as a page uses it. */
export interface Library {
  /** @param show gets each state of the query, with data or an error */
  watch(document: DocumentName, variables: object, show: (outcome: Outcome) => void): View
  /**
   * @param action the idempotency key
   * @param expected the data that the page shows until there is a response
   */
  mutate(document: DocumentName, variables: object, action: string, expected?: object): Promise<Outcome>
  follow(document: DocumentName, variables: object, show: (outcome: Outcome) => void): void
}

/** What the driver of a page calls. Its values are JSON. */
export interface Frontend {
  show(view: string, document: DocumentName, variables: object): void
  change(view: string, variables: object): void
  more(view: string): Promise<void>
  withheld(view: string, path: string): string | undefined
  hide(view: string): void
  follow(view: string, document: DocumentName, variables: object): void
  /** A person clicks on the button of a form. Returns what the page shows then. */
  click(form: string, document: DocumentName, variables: object, expected?: object): Promise<Shown>
  /** Shows a form, whose button sends the mutation. It is removed when it has saved. */
  openForm(form: string, document: DocumentName, variables: object): void
  /** All that a query or subscription has shown, the latest last. */
  readonly shown: Readonly<Record<string, readonly Shown[]>>
  /** Why requests have waited. */
  readonly waits: readonly string[]
  readonly isSignedOut: boolean
}

/** Starts a page. Its address names the session of the person, as a cookie does elsewhere. */
export function startPage(connect: (options: ClientOptions) => Library): void {
  const waits: string[] = []
  const shown: Record<string, Shown[]> = {}
  const views: Record<string, View> = {}
  const forms: Record<string, Action> = {}
  let isSignedOut = false

  const { searchParams } = new URL(location.href)
  const library = connect({
    url: `${location.origin}/graphql`,
    token: createTokens({
      fetchToken: () => fetch(`/token${location.search}`, { method: 'POST' }),
      session: String(searchParams.get('session')),
      purpose: 'gateway',
    }),
    ...(searchParams.has('stream') && { transport: 'stream' as const }),
    onWait: (until, reason) => void (until && waits.push(reason)),
    onSignedOut() {
      isSignedOut = true
    },
  })
  const record = (name: string) => {
    const list: Shown[] = []
    shown[name] = list
    return (outcome: Outcome) => void list.push(toShown(outcome))
  }
  const viewOf = (name: string) => {
    const view = views[name]
    if (!view) throw new Error(`The page does not show ${name}`)
    return view
  }
  const frontend: Frontend = {
    show(name, document, variables) {
      views[name] = library.watch(document, variables, record(name))
    },
    change: (name, variables) => viewOf(name).change(variables),
    more: async (name) => void (await viewOf(name).more?.()),
    withheld: (name, path) => viewOf(name).withheld(path),
    hide: (name) => viewOf(name).hide(),
    follow: (name, document, variables) => void library.follow(document, variables, record(name)),
    async click(form, document, variables, expected) {
      const act = forms[form] ?? createAction()
      forms[form] = act
      const outcome = act((action) => library.mutate(document, variables, action, expected))
      return toShown(await outcome.catch((error: unknown) => ({ error })))
    },
    openForm(id, operation, variables) {
      const form = Object.assign(document.createElement('form'), { id })
      const button = document.createElement('button')
      const output = document.createElement('output')
      const send = createForm(
        (action) => library.mutate(operation, variables, action) as Promise<{ readonly data?: object }>,
        ({ isOpen, isSending, messages }) => {
          button.disabled = isSending
          output.textContent = messages.join(' ')
          if (!isOpen) form.remove()
        },
      )
      form.addEventListener('submit', (event) => {
        event.preventDefault()
        void send()
      })
      form.append(button, output)
      document.body.append(form)
    },
    shown,
    waits,
    get isSignedOut() {
      return isSignedOut
    },
  }
  Object.assign(globalThis, { frontend })
}

interface WithErrors {
  readonly errors?: readonly { readonly extensions?: { readonly code?: string } }[]
  readonly graphQLErrors?: WithErrors['errors']
}

function toShown({ data, error }: Outcome): Shown {
  const { errors, graphQLErrors = errors } = (error ?? {}) as WithErrors
  const codes = graphQLErrors?.map(({ extensions }) => extensions?.code ?? 'INTERNAL')
  // Values of libraries are frozen, and have symbols.
  return JSON.parse(
    JSON.stringify({ data: data ?? undefined, errors: codes?.length ? codes : error ? [String(error)] : [] }),
  )
}

/** The end of the list that a page shows: the variable `after` of its next page. */
export function endCursorOf(data: unknown): string | undefined {
  if (typeof data !== 'object' || data === null) return undefined
  if ('endCursor' in data) return String(data.endCursor)
  return Object.values(data).map(endCursorOf).find(Boolean)
}
