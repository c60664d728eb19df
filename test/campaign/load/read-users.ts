import type { MarkedTenant } from '../../soak/tenants.ts'
import { certaintyOf, compareUser, type ShownUser, userFields } from '../shown-user.ts'
import type { WriterOptions } from './write.ts'

/** The number of reads. */
export interface Reads {
  sent: number
  answered: number
}

const query = `query ($id: ID!) { user(id: $id) { ${userFields} } }`

/**
 * Reads users that were acknowledged, from all gateways, until the signal aborts. One in five belongs to another
 * tenant, and must not be found.
 */
export async function readUsers(
  { client, ledger, note }: WriterOptions,
  tenant: MarkedTenant,
  reads: Reads,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await client.think()
    const isOwn = client.random.below(5) > 0
    const readable = ledger.users.filter((user) => user.id !== undefined && (user.tenant === tenant) === isOwn)
    // Half of the reads are of the latest users, which change.
    const candidates = readable.slice(client.random.below(2) === 0 ? -10 : 0)
    if (candidates.length === 0) continue
    const user = client.random.pick(candidates)
    const certainty = certaintyOf(user)
    reads.sent += 1
    const { response } = await client.send({ tenant, path: '/graphql', body: { query, variables: { id: user.id } } })
    if (!response) continue
    const { data } = JSON.parse(response.text) as { data: { user: ShownUser | null } }
    reads.answered += 1
    if (isOwn) for (const problem of compareUser(user, data.user, certainty)) note(problem)
    else if (data.user) note(`tenant ${tenant.number} read ${user.id} of tenant ${user.tenant.number}`)
  }
}
