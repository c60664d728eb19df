import { writeFileSync } from 'node:fs'
import { Command } from 'commander'

export function schemaCommand(): Command {
  return new Command('schema')
    .description('print the GraphQL schema, sorted')
    .option('--out <file>', 'write to this file instead of stdout')
    .action(async ({ out }: { out?: string }) => {
      const { printSortedSchema } = await import('../domain/schema.graphql.ts')
      if (out === undefined) process.stdout.write(printSortedSchema())
      else writeFileSync(out, printSortedSchema())
    })
}
