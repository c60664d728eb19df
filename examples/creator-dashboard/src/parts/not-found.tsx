import { Link } from './link.tsx'

/** An address that has no page for this session. */
export function NotFound() {
  return (
    <>
      <title>Page not found · Creator dashboard</title>
      <h1>Page not found</h1>
      <p>There is no page at this address, or your sign-in does not include it.</p>
      <p>
        <Link to="/">Go to the first page</Link>
      </p>
    </>
  )
}
