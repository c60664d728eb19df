import { Command } from 'commander'
import type { Io } from '../io.ts'

export function schemaCommand(io: Io): Command {
  return new Command('schema')
    .description('print the GraphQL schema, sorted')
    .option('--out <file>', 'write to this file instead of stdout')
    .action(async ({ out }: { readonly out?: string }) => (await import('../actions/schema.ts')).printSchema(io, out))
}
