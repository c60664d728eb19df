import { Command } from 'commander'
import { defaultConcurrency, defaultLeaseSeconds, readConcurrency, readLeaseSeconds } from './process/number-options.ts'
import type { RunOptions } from './process/work.ts'

/** `fusion work`. Its code is loaded when it is called. */
export function workCommand(): Command {
  return new Command('work')
    .description('run the jobs of all tenants. With the embedded database, `serve` does so itself')
    .option('--handlers <file>', 'the functions that the file exports run the jobs of the types they are named after')
    .option(
      '--concurrency <count>',
      'the number of jobs that run at the same time',
      readConcurrency,
      defaultConcurrency,
    )
    .option(
      '--lease <seconds>',
      'how long a job stays with a worker that has died',
      readLeaseSeconds,
      defaultLeaseSeconds,
    )
    .action(async (options: RunOptions) => (await import('./process/work.ts')).work(options))
}
