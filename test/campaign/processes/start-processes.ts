import path from 'node:path'
import { inspectorOptions } from '../../soak/heap.ts'
import { startCommand, startGateway } from '../../support/cli.ts'
import { freePort } from '../../support/cluster.ts'
import { startProxy } from '../../support/proxy.ts'
import { type SupervisedProcess, superviseProcess } from './supervised-process.ts'

const handlersFile = path.resolve(import.meta.dirname, '../../fixtures/handlers.ts')

/** A gateway that keeps its address when it is started again. */
export interface SupervisedGateway extends SupervisedProcess {
  readonly address: string
}

/** Starts a gateway with its default limits, and a proxy between it and the database. */
export async function startSupervisedGateway(
  name: string,
  url: string,
  note: (problem: string) => void,
): Promise<SupervisedGateway> {
  const { proxy, env } = await startProxyTo(url)
  const port = await freePort()
  const start = () => startGateway({ ...env, PORT: String(port), NODE_OPTIONS: inspectorOptions })
  return { ...(await superviseProcess(name, proxy, start, note)), address: `http://127.0.0.1:${port}` }
}

/**
 * Starts a worker, and a proxy between it and the database. Its leases are short, so that others soon take over its
 * jobs.
 */
export async function startSupervisedWorker(
  name: string,
  url: string,
  note: (problem: string) => void,
): Promise<SupervisedProcess> {
  const { proxy, env } = await startProxyTo(url)
  const args = ['work', '--handlers', handlersFile, '--concurrency', '8', '--lease', '4']
  return superviseProcess(name, proxy, () => startCommand(args, env, 'working'), note)
}

async function startProxyTo(url: string) {
  const target = new URL(url)
  const proxy = await startProxy(Number(target.port))
  target.port = String(proxy.port)
  return { proxy, env: { DATABASE_URL: target.href } }
}
