import type { MarkedTenant } from '../../soak/tenants.ts'
import type { Ledger, SentUser } from '../ledger.ts'
import type { Client } from '../load/client.ts'
import { certaintyOf, compareUser, positionsOf, type ShownUser, userFields } from '../shown-user.ts'
import { readPages } from './read-pages.ts'

/** Compares the users of a tenant with the ledger, and counts what is found. */
export async function checkUsers(
  client: Client,
  tenant: MarkedTenant,
  { users, counts, refused }: Ledger,
  note: (problem: string) => void,
): Promise<void> {
  const shownUsers = await readPages<ShownUser>(client, tenant, 'users', userFields)
  await compareWithStream(client, tenant, shownUsers, note)
  const byEmail = Map.groupBy(shownUsers, ({ email }) => email)
  for (const user of users.filter((sent) => sent.tenant === tenant)) {
    const found = byEmail.get(user.email) ?? []
    byEmail.delete(user.email)
    counts.users.found += found.length
    if (user.isRefused) {
      refused.sent += 1
      refused.found += found.length
    }
    if (found.length > 1) note(`${user.email} was sent once and is stored ${found.length} times`)
    const [shown] = found
    if (user.id !== undefined) for (const problem of compareUser(user, shown ?? null, certaintyOf(user))) note(problem)
    if (shown) countFields(user, shown)
  }
  for (const email of byEmail.keys()) {
    if (email.startsWith('new_')) note(`${email} was never sent`)
  }

  function countFields(user: SentUser, shown: ShownUser): void {
    const { name = 1, account = 0, profile = 0 } = positionsOf(user, shown, certaintyOf(user))
    counts.names.found += name - 1
    counts.accounts.found += account
    counts.profiles.found += profile
  }
}

/** The list over REST must have the same users. */
async function compareWithStream(
  client: Client,
  tenant: MarkedTenant,
  shownUsers: readonly ShownUser[],
  note: (problem: string) => void,
): Promise<void> {
  const { response } = await client.send({ tenant, path: '/users' })
  const { users } = JSON.parse(response?.text ?? '{"users":[]}') as { users: { id: string; name: string }[] }
  const namesOf = (list: readonly { id: string; name: string }[]) => list.map(({ id, name }) => `${id} ${name}`).sort()
  if (namesOf(users).join() !== namesOf(shownUsers).join()) {
    note(`GET /users of tenant ${tenant.number} has other users than GraphQL`)
  }
}
