import { writeFileSync } from 'node:fs'
import { printSortedSchema } from '../../domain/schema.graphql.ts'
import type { Io } from '../io.ts'

/** @param file to write; stdout by default */
export function printSchema({ stdout }: Io, file: string | undefined): void {
  if (file === undefined) stdout.write(printSortedSchema())
  else writeFileSync(file, printSortedSchema())
}
