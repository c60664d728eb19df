import { findTenant } from '../../../domain/tenant/tenant.service.ts'
import type { Io } from '../../io.ts'
import { printTable } from '../terminal.ts'
import { withMigratedDatabase } from '../with-database.ts'

export function listWebhooks(io: Io, tenant: string): Promise<void> {
  return withMigratedDatabase(io, async (database) => {
    const { id: tenantAppId } = await findTenant(database, tenant)
    const webhooks = await database.prisma.webhook.findMany({ where: { tenantAppId }, orderBy: { createdAt: 'asc' } })
    const stateOf = ({ enabled, failingSince }: (typeof webhooks)[number]) =>
      enabled ? (failingSince ? `failing since ${failingSince.toISOString()}` : 'enabled') : 'disabled'
    printTable(
      io.stdout,
      ['ID', 'URL', 'EVENTS', 'KEY', 'STATE', 'REASON'],
      webhooks.map((webhook) => [
        webhook.id,
        webhook.url,
        webhook.eventTypes.join(','),
        webhook.keyId,
        stateOf(webhook),
        webhook.disabledReason ?? '-',
      ]),
    )
  })
}
