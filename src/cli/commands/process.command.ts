import { Command, Option } from 'commander'
import type { Io } from '../io.ts'
import { defaultLeaseSeconds } from '../process/lease.ts'
import type { ServeOptions } from '../process/serve.ts'
import type { WorkOptions } from '../process/work.ts'
import { wholeNumber } from './option-values.ts'

const concurrency = new Option('--concurrency <count>', 'the number of jobs that run at the same time')
  .argParser(wholeNumber(1, 1_000))
  .default(4)

export function serveCommand(io: Io): Command {
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
      if (options.processes === 1) return (await import('../process/serve.ts')).serve(io, options)
      const { default: cluster } = await import('node:cluster')
      // The supervisor does not load the code that serves.
      if (cluster.isPrimary)
        return (await import('../process/supervisor/supervise.ts')).supervise(io, options.processes)
      const supervisor = (await import('../process/supervisor/connect.ts')).connectToSupervisor()
      return (await import('../process/serve.ts')).serve(io, options, supervisor)
    })
}

export function workCommand(io: Io): Command {
  return new Command('work')
    .description('run the jobs of all tenants. With the embedded database, `serve` does so itself')
    .option(
      '--handlers <file>',
      'the functions that the file exports run the jobs of the types they are named after. See docs/jobs.md',
    )
    .addOption(concurrency)
    .option(
      '--lease <seconds>',
      'how long other workers wait for a worker that has died',
      wholeNumber(1, 3_600),
      defaultLeaseSeconds,
    )
    .action(async (options: WorkOptions) => (await import('../process/work.ts')).work(io, options))
}
