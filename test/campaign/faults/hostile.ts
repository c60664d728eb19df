// A hostile client in a thread of its own, so that it does not delay the other clients.
import { parentPort, workerData } from 'node:worker_threads'
import { attacks, attackWith, type Credential } from '../../attacks/attacks.ts'

interface HostileData {
  readonly name: string
  readonly address: string
  readonly attackers: readonly Credential[]
}

const { name, address, attackers } = workerData as HostileData
const statuses: Record<string, number> = {}
const stopping = new AbortController()
parentPort?.once('message', () => stopping.abort())
const onAnswer = (status: number) => {
  statuses[status] = (statuses[status] ?? 0) + 1
}
const attack = attacks[name]
if (attack) await attackWith(attackers, attack, { address, onAnswer }, stopping.signal)
parentPort?.postMessage(statuses)
