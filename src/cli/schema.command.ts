import { writeFileSync } from 'node:fs'
import { Command } from 'commander'

/** `fusion schema`. The schema is loaded when it is called. */
export function schemaCommand(): Command {
  return new Command('schema')
    .description('print the GraphQL schema, sorted')
    .option('--out <file>', 'write it to a file instead')
    .action(async ({ out }: { out?: string }) => {
      const { printSortedSchema } = await import('../graphql/schema.ts')
      if (out === undefined) process.stdout.write(printSortedSchema())
      else writeFileSync(out, printSortedSchema())
    })
}
