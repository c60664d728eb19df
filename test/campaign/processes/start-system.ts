import { openDatabase } from '../../../src/database.ts'
import { createNeighbours, type Neighbours } from '../../attacks/neighbours.ts'
import { createMarkedTenants, type MarkedTenant } from '../../soak/tenants.ts'
import { type Cluster, createCluster } from '../../support/cluster.ts'
import { locationOf } from '../../support/settings.ts'
import { recordJobHistory } from '../job-history.ts'
import { type SupervisedGateway, startSupervisedGateway, startSupervisedWorker } from './start-processes.ts'
import type { SupervisedProcess } from './supervised-process.ts'

/** A PostgreSQL server with tenants, two gateways and two workers. */
export interface System {
  readonly cluster: Cluster
  /** An attacker with many rows, and a tenant whose user `usr_1` is read to see whether a gateway answers. */
  readonly neighbours: Neighbours
  /** The tenants of the well-behaved clients. */
  readonly tenants: readonly MarkedTenant[]
  readonly gateways: readonly SupervisedGateway[]
  readonly workers: readonly SupervisedProcess[]
  /** Stops the processes, but not the server. */
  stopProcesses(): Promise<void>
  /** Stops everything. */
  remove(): Promise<void>
}

const tenantCount = 4

/** Starts the system. From then on, the server records the history of jobs. */
export async function startSystem(note: (problem: string) => void): Promise<System> {
  const cluster = await createCluster()
  const processes: SupervisedProcess[] = []
  async function stopProcesses(): Promise<void> {
    for (const process of processes.splice(0)) await process.stop()
  }
  async function remove(): Promise<void> {
    await stopProcesses()
    await cluster.remove()
  }
  async function keep<Process extends SupervisedProcess>(starting: Promise<Process>): Promise<Process> {
    const process = await starting
    processes.push(process)
    return process
  }
  try {
    const { url } = cluster
    const neighbours = await createNeighbours(cluster)
    const tenants = await createMarkedTenants(cluster, tenantCount)
    const database = await openDatabase(locationOf(cluster.ownerUrl))
    await recordJobHistory(database)
    await database.close()
    const gateways = [
      await keep(startSupervisedGateway('gateway 1', url, note)),
      await keep(startSupervisedGateway('gateway 2', url, note)),
    ]
    const workers = [
      await keep(startSupervisedWorker('worker 1', url, note)),
      await keep(startSupervisedWorker('worker 2', url, note)),
    ]
    return { cluster, neighbours, tenants, gateways, workers, stopProcesses, remove }
  } catch (error) {
    await remove()
    throw error
  }
}
