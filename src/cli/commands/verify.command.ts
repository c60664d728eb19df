import { Command } from 'commander'
import type { DistributionOptions } from '../actions/verify-distribution.ts'
import type { ErasureOptions } from '../actions/verify-erasure.ts'
import type { SecretsOptions } from '../actions/verify-secrets.ts'
import type { Io } from '../io.ts'
import { readFilledText } from './option-values.ts'

export function verifyCommand(io: Io): Command {
  const command = new Command('verify').description('check what the gateway promises about its data')
  command
    .command('erasure')
    .description('look for a deleted user in every column of every table. Exits with 1 if one names the user')
    .requiredOption('--user <id>', 'the id of the user', readFilledText)
    .option('--tenant <name>', 'the tenant of the user; all tenants by default')
    .option('--text <text>', 'a further text to look for, such as an email address; can be repeated', collect, [])
    .option('--json', 'print a JSON object per line')
    .action(async (options: ErasureOptions) =>
      (await import('../actions/verify-erasure.ts')).verifyErasure(io, options),
    )
  command
    .command('secrets')
    .description('say how stored secrets are encrypted. Exits with 1 unless all are, with the first key of SECRET_KEYS')
    .option('--encrypt', 'encrypt the others with it first. No process may lack the key')
    .action(async (options: SecretsOptions) =>
      (await import('../actions/verify-secrets.ts')).verifySecrets(io, options),
    )
  command
    .command('distribution')
    .description(
      'check tables that Citus has distributed: where they are, what each node has, and which statements read several nodes. Exits with 1 if something is wrong',
    )
    .option('--json', 'print a JSON object per line')
    .action(async (options: DistributionOptions) =>
      (await import('../actions/verify-distribution.ts')).verifyDistributed(io, options),
    )
  return command
}

function collect(text: string, others: readonly string[]): string[] {
  return [...others, readFilledText(text)]
}
