import { Command } from 'commander'
import type { ServeOptions } from './serve.ts'
import { defaultConcurrency, readConcurrency } from './work-options.ts'

/** `fusion serve`. What it does is loaded when it is called: the other commands start without it. */
export function serveCommand(): Command {
  return new Command('serve')
    .description('serve both faces until told to stop')
    .option('--handlers <file>', 'work on jobs in this process too, with the functions that the file exports')
    .option('--concurrency <count>', 'how many jobs to work on at a time', readConcurrency, defaultConcurrency)
    .action(async (options: ServeOptions) => (await import('./serve.ts')).serve(options))
}
