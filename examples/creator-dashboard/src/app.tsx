import { type ReactNode, useCallback, useEffect, useMemo, useState } from 'react'
import { Provider } from 'urql'
import { createClient, Waiting } from './client/client.ts'
import { resumeSession, type Session, signOut } from './client/session.ts'
import { Creators } from './pages/creators.tsx'
import { JobPage } from './pages/job.tsx'
import { Jobs } from './pages/jobs.tsx'
import { MyAccounts } from './pages/my-accounts.tsx'
import { SignIn } from './pages/sign-in.tsx'
import { Link } from './parts/link.tsx'
import { navigate, useAddress } from './parts/location.ts'
import { NotFound } from './parts/not-found.tsx'
import { Loading, Problem } from './parts/notices.tsx'

/** The page at an address. */
function pageAt({ pathname, searchParams }: URL, isStaff: boolean): ReactNode {
  if (pathname === '/') return isStaff ? <Creators /> : <MyAccounts />
  if (pathname === '/jobs' && isStaff) return <Jobs />
  const job = searchParams.get('id')
  if (pathname === '/job' && job !== null && isStaff) return <JobPage key={job} id={job} />
  return <NotFound />
}

/** A new page takes the focus, so that screen readers read it. */
const focus = (main: HTMLElement | null) => main?.focus({ preventScroll: true })

export function App() {
  const [session, setSession] = useState<Session | null>()
  const [problem, setProblem] = useState<string>()
  const leave = () => setSession(null)

  const start = useCallback(() => {
    setProblem(undefined)
    resumeSession(() => setSession(null)).then(setSession, ({ message }) => setProblem(message))
  }, [])
  useEffect(start, [start])

  if (problem !== undefined) return <Problem title="The page cannot start" message={problem} onRetry={start} />
  if (session === undefined) return <Loading />
  if (session === null) return <SignIn onSignIn={setSession} onEnd={leave} />
  return (
    <SignedIn
      session={session}
      onSignOut={async () => {
        await signOut()
        navigate('/', { replace: true })
        leave()
      }}
    />
  )
}

function SignedIn({ session, onSignOut }: { readonly session: Session; readonly onSignOut: () => void }) {
  const [isWaiting, setIsWaiting] = useState(false)
  const client = useMemo(() => createClient(session, setIsWaiting), [session])
  const address = useAddress()
  return (
    <Provider value={client}>
      <a className="skip" href="#main">
        Skip to the content
      </a>
      <header className="bar">
        <span className="brand">
          <img src="/icon.svg" alt="" width="28" height="28" />
          <span>Creator dashboard</span>
        </span>
        {session.isStaff && (
          <nav aria-label="Pages">
            <Link to="/">Creators</Link>
            <Link to="/jobs">Jobs</Link>
          </nav>
        )}
        <div className="session">
          {session.isStaff && <span>Staff</span>}
          <button type="button" className="quiet" onClick={onSignOut}>
            Sign out
          </button>
        </div>
      </header>
      <main id="main" tabIndex={-1} key={address.pathname} ref={focus}>
        <Waiting value={isWaiting}>{pageAt(address, session.isStaff)}</Waiting>
      </main>
    </Provider>
  )
}
