import { Command } from 'commander'
import type { RunOptions } from './work.ts'
import { defaultConcurrency, defaultLeaseSeconds, readConcurrency, readLeaseSeconds } from './work-options.ts'

/** `fusion work`. What it does is loaded when it is called. */
export function workCommand(): Command {
  return new Command('work')
    .description(
      'work on the jobs of all tenants until told to stop; with the embedded database `serve` does so itself',
    )
    .option(
      '--handlers <file>',
      'the functions that the file exports work on the jobs of the type they are named after',
    )
    .option('--concurrency <count>', 'how many jobs to work on at a time', readConcurrency, defaultConcurrency)
    .option(
      '--lease <seconds>',
      'when others get the jobs of a worker that died',
      readLeaseSeconds,
      defaultLeaseSeconds,
    )
    .action(async (options: RunOptions) => (await import('./work.ts')).work(options))
}
