import { writeFileSync } from 'node:fs'
import { Command } from 'commander'
import { printSortedSchema } from '../graphql/schema.ts'

/** `fusion schema` */
export function schemaCommand(): Command {
  return new Command('schema')
    .description('print the GraphQL schema, sorted')
    .option('--out <file>', 'write it to a file instead')
    .action(({ out }: { out?: string }) => {
      if (out === undefined) process.stdout.write(printSortedSchema())
      else writeFileSync(out, printSortedSchema())
    })
}
