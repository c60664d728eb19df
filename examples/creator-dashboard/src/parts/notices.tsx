import type { ReactNode } from 'react'
import type { CombinedError } from 'urql'
import { unreachable } from '../client/api.ts'

export function Loading({ children = 'Loading' }: { readonly children?: ReactNode }) {
  return (
    <p className="loading" role="status">
      {children}…
    </p>
  )
}

export function Empty({ children }: { readonly children: ReactNode }) {
  return <p className="empty">{children}</p>
}

/** An error, and what can be done. */
export function Problem({
  title,
  message,
  onRetry,
  retry = 'Try again',
}: {
  readonly title: string
  readonly message: string
  readonly onRetry?: () => void
  /** The name of the button. */
  readonly retry?: string
}) {
  return (
    <div className="problem" role="alert">
      <strong>{title}</strong>
      <p>{message}</p>
      {onRetry && (
        <button type="button" onClick={onRetry}>
          {retry}
        </button>
      )}
    </div>
  )
}

/** The gateway's messages are for developers. */
const messages: Readonly<Record<string, string>> = {
  UNAUTHENTICATED: 'Your session has ended. Sign in again.',
  FORBIDDEN: 'You may not see or do this.',
  RATE_LIMITED: 'There are too many requests at the moment. Try again in a minute.',
  SERVICE_UNAVAILABLE: unreachable,
  DOCUMENT_NOT_TRUSTED: 'This page is not of the same version as the service. Reload it.',
  PERSISTED_QUERY_NOT_FOUND: 'This page is not of the same version as the service. Reload it.',
}

const codesOf = ({ graphQLErrors }: CombinedError) =>
  graphQLErrors.map(({ extensions }) => String(extensions?.['code']))

/** An error of an operation, in words for people. */
export function messageOf(error: CombinedError): string {
  const [code] = codesOf(error)
  if (code === undefined) return unreachable
  return messages[code] ?? 'Something went wrong. Try again, and tell us if it happens again.'
}

/** Whether the gateway rejected the input, such as a cursor in the address that is no cursor. The same request fails again. */
export function isRejected(error: CombinedError): boolean {
  return codesOf(error).some((code) => ['BAD_USER_INPUT', 'MALFORMED_REQUEST'].includes(code))
}
