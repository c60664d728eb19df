import { createAction, failureOf } from '@fusion-gateway/client'

/** What a page shows of a form. */
export interface FormState {
  readonly isOpen: boolean
  readonly isSending: boolean
  /** What the person must know, or can fix. */
  readonly messages: readonly string[]
  /** For the log of the page. */
  readonly code?: string
}

/** What each client returns of a mutation. */
interface Result {
  readonly data?: object | null | undefined
}

interface Payload {
  readonly userErrors?: readonly { readonly message: string }[]
}

/**
 * Creates what a form calls when it is sent. Create one for each form. The form closes when its mutation has saved, and
 * not before.
 *
 * @param save sends the mutation: `(action) => client.mutate({ mutation, variables, context: { action } })`
 */
export function createForm(save: (action: string) => Promise<Result>, show: (state: FormState) => void) {
  const run = createAction()
  return async (): Promise<void> => {
    show({ isOpen: true, isSending: true, messages: [] })
    try {
      const { data } = await run(save)
      const messages = Object.values(data ?? {}).flatMap(({ userErrors = [] }: Payload) =>
        userErrors.map(({ message }) => message),
      )
      show({ isOpen: messages.length > 0, isSending: false, messages })
    } catch (error) {
      const { message, code } = failureOf(error)
      show({ isOpen: true, isSending: false, messages: [message], code })
    }
  }
}
