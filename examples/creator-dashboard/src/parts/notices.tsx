import type { ReactNode } from 'react'
import type { CombinedError } from 'urql'

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
}: {
  readonly title: string
  readonly message: string
  readonly onRetry?: () => void
}) {
  return (
    <div className="problem" role="alert">
      <strong>{title}</strong>
      <p>{message}</p>
      {onRetry && (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  )
}

/** An error of an operation, in words for people. */
export function messageOf({ graphQLErrors, networkError }: CombinedError): string {
  return graphQLErrors[0]?.message ?? `The gateway cannot be reached: ${networkError?.message ?? 'no response'}`
}
