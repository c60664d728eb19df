import { Command, Option } from 'commander'
import { defaultLeaseSeconds, wholeNumber } from '../option-values.ts'
import type { ServeOptions } from './serve.ts'
import type { WorkOptions } from './work.ts'

// The code of both commands is loaded when they are called, so that the other commands start faster.

const concurrency = new Option('--concurrency <count>', 'the number of jobs that run at the same time')
  .argParser(wholeNumber(1, 1_000))
  .default(4)

export function serveCommand(): Command {
  return new Command('serve')
    .description('serve GraphQL and REST')
    .option(
      '--handlers <file>',
      'run jobs in this process too, with the functions that the file exports (with the embedded database it always runs jobs)',
    )
    .addOption(concurrency)
    .option(
      '--processes <count>',
      'the number of processes that serve together on the port; more than one needs PostgreSQL. SIGHUP restarts them one by one',
      wholeNumber(1, 64),
      1,
    )
    .action(async (options: ServeOptions) => {
      if (options.processes === 1) return (await import('./serve.ts')).serve(options)
      const { default: cluster } = await import('node:cluster')
      // The supervisor does not load the code that serves.
      if (cluster.isPrimary) return (await import('./supervisor/supervise.ts')).supervise(options.processes)
      const supervisor = (await import('./supervisor/connect.ts')).connectToSupervisor()
      return (await import('./serve.ts')).serve(options, supervisor)
    })
}

export function workCommand(): Command {
  return new Command('work')
    .description('run the jobs of all tenants. With the embedded database, `serve` does so itself')
    .option('--handlers <file>', 'the functions that the file exports run the jobs of the types they are named after')
    .addOption(concurrency)
    .option(
      '--lease <seconds>',
      'how long other workers wait for a worker that has died',
      wholeNumber(1, 3_600),
      defaultLeaseSeconds,
    )
    .action(async (options: WorkOptions) => (await import('./work.ts')).work(options))
}
