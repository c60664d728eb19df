import type { JobStatus } from '../db/generated/prisma/enums.ts'
import { type GatewayError, invalidField } from '../errors.ts'

interface Transition {
  readonly from: readonly JobStatus[]
  readonly to: JobStatus
}

/** Every way in which a job's state may change. Any other is refused as CONFLICT. */
export const transitions = {
  start: { from: ['PENDING'], to: 'RUNNING' },
  succeed: { from: ['RUNNING'], to: 'SUCCEEDED' },
  /** An attempt failed, or its lease was lost, and another one is left. */
  tryAgain: { from: ['RUNNING'], to: 'PENDING' },
  giveUp: { from: ['RUNNING'], to: 'FAILED' },
  cancel: { from: ['PENDING', 'RUNNING'], to: 'CANCELLED' },
  retry: { from: ['FAILED', 'CANCELLED'], to: 'PENDING' },
} as const satisfies Record<string, Transition>

export type Move = keyof typeof transitions

/** Whether a job in this state may make the move. */
export function mayMove(move: Move, status: JobStatus): boolean {
  return (transitions[move].from as readonly JobStatus[]).includes(status)
}

/** The refusal of a move that the job's state does not allow. */
export function refusedMove(move: Move, status: JobStatus): GatewayError {
  const from = transitions[move].from.join(' or ')
  return invalidField('id', 'CONFLICT', `is of a job that is ${status}; only one that is ${from} can be changed so`)
}
