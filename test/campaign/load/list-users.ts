import { setTimeout as sleep } from 'node:timers/promises'
import type { MarkedTenant } from '../../soak/tenants.ts'
import type { Reads } from './read-users.ts'
import type { WriterOptions } from './write.ts'

const pauseMilliseconds = 3_000

/**
 * Reads the whole list of users over REST again and again, until the signal aborts. A list that arrives must be
 * complete: it has every user that was acknowledged before, once.
 */
export async function listUsers(
  { client, ledger, note }: WriterOptions,
  tenant: MarkedTenant,
  reads: Reads,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await sleep(client.random.below(pauseMilliseconds))
    const created = ledger.users.filter((user) => user.tenant === tenant && user.id !== undefined)
    reads.sent += 1
    const { response } = await client.send({ tenant, path: '/users' })
    if (response?.status !== 200) continue
    reads.answered += 1
    const { users } = JSON.parse(response.text) as { users: { id: string }[] }
    const ids = new Set(users.map(({ id }) => id))
    if (ids.size < users.length) note(`GET /users of tenant ${tenant.number} has a user twice`)
    const missing = created.filter(({ id = '' }) => !ids.has(id))
    if (missing.length > 0) note(`GET /users of tenant ${tenant.number} lacks ${missing.map(({ id }) => id)}`)
  }
}
