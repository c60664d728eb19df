import type { ReactNode } from 'react'
import { navigate, useAddress } from './location.ts'

/** A link to another path of this page. */
export function Link({ to, children }: { readonly to: string; readonly children: ReactNode }) {
  const { pathname } = useAddress()
  return (
    <a
      href={to}
      aria-current={pathname === to ? 'page' : undefined}
      onClick={(event) => {
        // The browser opens a new tab or window itself.
        if (event.metaKey || event.ctrlKey || event.shiftKey) return
        event.preventDefault()
        navigate(to)
      }}
    >
      {children}
    </a>
  )
}
