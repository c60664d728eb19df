import { Command } from 'commander'
import { defaultConcurrency, readConcurrency, readProcesses } from './process/number-options.ts'
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
    .option(
      '--processes <count>',
      'the number of processes that serve together on the port; more than one needs PostgreSQL. SIGHUP restarts them one by one',
      readProcesses,
      1,
    )
    .action(async (options: ServeOptions) => {
      if (options.processes === 1) return (await import('./process/serve.ts')).serve(options)
      const { default: cluster } = await import('node:cluster')
      // The supervisor does not load the code that serves.
      if (cluster.isPrimary) return (await import('./process/supervisor/supervise.ts')).supervise(options.processes)
      const supervisor = (await import('./process/supervisor/connect.ts')).connectToSupervisor()
      return (await import('./process/serve.ts')).serve(options, supervisor)
    })
}
