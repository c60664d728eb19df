import cluster from 'node:cluster'
import type { ServeOptions } from '../serve.ts'
import { connectToSupervisor } from './connect.ts'

/**
 * Serves with several processes: this one is their supervisor, or one of them.
 *
 * @param size the number of processes
 */
export async function serveTogether(size: number, options: ServeOptions): Promise<void> {
  // The supervisor does not load the code that serves.
  if (cluster.isPrimary) return (await import('./supervise.ts')).supervise(size)
  const supervisor = connectToSupervisor()
  return (await import('../serve.ts')).serve(options, supervisor)
}
