import { type FormEvent, useCallback, useEffect, useState } from 'react'
import type { DemoUsersQuery } from '../__generated__/graphql.ts'
import { api } from '../client/api.ts'
import { type Session, signIn } from '../client/session.ts'
import { Empty, Loading, Problem } from '../parts/notices.tsx'

type Users = NonNullable<DemoUsersQuery['users']>['nodes']

interface Props {
  readonly onSignIn: (session: Session) => void
  readonly onEnd: () => void
}

/** Signs in as a user of the demo tenant, or as staff. There is no password, because it is a demo. */
export function SignIn({ onSignIn, onEnd }: Props) {
  const [users, setUsers] = useState<Users>()
  const [listProblem, setListProblem] = useState<string>()
  const [problem, setProblem] = useState<string>()
  const [isBusy, setIsBusy] = useState(false)

  const list = useCallback(() => {
    setListProblem(undefined)
    api<Users>('GET', '/api/users').then(setUsers, ({ message }) => setListProblem(message))
  }, [])
  useEffect(list, [list])

  async function enter(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    setProblem(undefined)
    setIsBusy(true)
    try {
      onSignIn(await signIn(form.get('user')?.toString() ?? null, form.has('contacts'), onEnd))
    } catch (error) {
      setProblem((error as Error).message)
      setIsBusy(false)
    }
  }

  return (
    <main className="sign-in">
      <title>Sign in · Creator dashboard</title>
      <img src="/icon.svg" alt="" width="56" height="56" />
      <h1>Creator dashboard</h1>
      <p>A demo on Fusion Gateway. Choose who you are.</p>
      {problem !== undefined && <Problem title="You are not signed in" message={problem} />}
      {listProblem !== undefined && (
        <Problem title="The creators cannot be listed" message={listProblem} onRetry={list} />
      )}
      {!users && listProblem === undefined && <Loading>Loading the users</Loading>}
      {users?.length === 0 && <Empty>The tenant has no users yet.</Empty>}
      {users && users.length > 0 && (
        <form className="card" onSubmit={enter}>
          <h2>A creator</h2>
          <p>Sees their own accounts, and nothing else.</p>
          <label>
            User
            <select name="user">
              {users.map(({ id, name, accounts }) => (
                <option key={id} value={id}>
                  {name} ({accounts.length} accounts)
                </option>
              ))}
            </select>
          </label>
          <label className="check">
            <input type="checkbox" name="contacts" /> Let the page read contact data
          </label>
          <button type="submit" className="primary" disabled={isBusy}>
            Sign in as a creator
          </button>
        </form>
      )}
      <form className="card" onSubmit={enter}>
        <h2>Staff</h2>
        <p>Finds all creators, and starts jobs.</p>
        <button type="submit" disabled={isBusy}>
          Sign in as staff
        </button>
      </form>
    </main>
  )
}
