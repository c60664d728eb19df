import { Command } from 'commander'
import { defaultConcurrency, readConcurrency } from './process/number-options.ts'
import type { ServeOptions } from './process/serve.ts'

/** `fusion serve`. Its code is loaded when it is called, so that the other commands start faster. */
export function serveCommand(): Command {
  return new Command('serve')
    .description('serve GraphQL and REST')
    .option(
      '--handlers <file>',
      'run jobs in this process too, with the functions that the file exports (with the embedded database it always runs jobs)',
    )
    .option(
      '--concurrency <count>',
      'the number of jobs that run at the same time',
      readConcurrency,
      defaultConcurrency,
    )
    .action(async (options: ServeOptions) => (await import('./process/serve.ts')).serve(options))
}
