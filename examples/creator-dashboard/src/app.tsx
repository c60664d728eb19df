import { useEffect, useMemo, useState } from 'react'
import { Provider } from 'urql'
import { createClient } from './client/client.ts'
import { resumeSession, type Session, signOut } from './client/session.ts'
import { Creators } from './pages/creators.tsx'
import { Jobs } from './pages/jobs.tsx'
import { MyAccounts } from './pages/my-accounts.tsx'
import { SignIn } from './pages/sign-in.tsx'
import { Link } from './parts/link.tsx'
import { navigate, useAddress } from './parts/location.ts'
import { Loading, Problem } from './parts/notices.tsx'

const staffPages = { '/': Creators, '/jobs': Jobs }
const userPages = { '/': MyAccounts }

/** A new page takes the focus, so that screen readers read it. */
const focus = (main: HTMLElement | null) => main?.focus({ preventScroll: true })

export function App() {
  const [session, setSession] = useState<Session | null>()
  const [problem, setProblem] = useState<string>()
  const leave = () => setSession(null)

  useEffect(() => {
    resumeSession(() => setSession(null)).then(setSession, ({ message }) => setProblem(message))
  }, [])

  if (problem !== undefined) return <Problem title="The page cannot start" message={problem} />
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
  const client = useMemo(() => createClient(session), [session])
  const { pathname } = useAddress()
  const pages: Readonly<Record<string, typeof Jobs>> = session.isStaff ? staffPages : userPages
  const Page = pages[pathname] ?? pages['/'] ?? MyAccounts
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
      <main id="main" tabIndex={-1} key={pathname} ref={focus}>
        <Page />
      </main>
    </Provider>
  )
}
