import type { JobStatus } from '../../../engine/db/generated/prisma/enums.ts'
import { type GatewayError, invalidField } from '../../../engine/errors.ts'

/** Every change of a job's state. All others are rejected with CONFLICT. */
const transitions = {
  start: { from: ['PENDING'], to: ['RUNNING'] },
  succeed: { from: ['RUNNING'], to: ['SUCCEEDED'] },
  /** Waits for another attempt if one is left; otherwise the job has failed. */
  fail: { from: ['RUNNING'], to: ['PENDING', 'FAILED'] },
  cancel: { from: ['PENDING', 'RUNNING'], to: ['CANCELLED'] },
  retry: { from: ['FAILED', 'CANCELLED'], to: ['PENDING'] },
} as const satisfies Record<string, { readonly from: readonly JobStatus[]; readonly to: readonly JobStatus[] }>

export type Transition = keyof typeof transitions

/** The states in which a job can make a transition. */
export function statesBefore(transition: Transition): readonly JobStatus[] {
  return transitions[transition].from
}

/** Whether a job in this state can make the transition. */
export function canMake(transition: Transition, status: JobStatus): boolean {
  return statesBefore(transition).includes(status)
}

/** Whether a job is over: it succeeded, failed or was cancelled. */
export function isFinished(status: JobStatus): boolean {
  return !canMake('cancel', status)
}

/** The rejection of a transition that the job's state does not allow. */
export function rejectedTransition(transition: Transition, status: JobStatus): GatewayError {
  const from = statesBefore(transition).join(' or ')
  return invalidField('id', 'CONFLICT', `is the id of a job that is ${status}; it must be ${from}`)
}
