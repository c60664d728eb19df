import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { finished } from 'node:stream/promises'
import { Command } from 'commander'
import { readConfig } from '../config.ts'
import { findTenant } from '../domain/tenant/tenant.service.ts'
import { withMigratedDatabase } from './with-database.ts'

/** `fusion export`. Its code is loaded when it is called. */
export function exportCommand(): Command {
  return new Command('export')
    .description('export the users, profiles and jobs of a tenant: a JSON record per line, which import accepts')
    .requiredOption('--tenant <name>', 'the tenant to export')
    .option('--out <file>', 'write to this file instead of stdout')
    .action(({ tenant: name, out }: { tenant: string; out?: string }) =>
      withMigratedDatabase(async (database) => {
        const [{ createServices }, { createLogger }, { beginSnapshot, exportTenant }] = await Promise.all([
          import('../domain/services.ts'),
          import('../engine/telemetry/logger.ts'),
          import('../transfer/export.ts'),
        ])
        const tenant = await findTenant(database, name)
        const target = out === undefined ? process.stdout : createWriteStream(out, { mode: 0o600 })
        const config = readConfig()
        const log = createLogger(config, process.stderr)
        const services = createServices(database, { ...config, maxReadLength: Number.POSITIVE_INFINITY })
        await database.transact(async () => {
          await beginSnapshot(database)
          for await (const record of exportTenant(services, tenant, log)) {
            if (!target.write(`${JSON.stringify(record)}\n`)) await once(target, 'drain')
          }
        })
        if (target !== process.stdout) await finished(target.end())
      }),
    )
}
