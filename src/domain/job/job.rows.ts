import { idsWithPrefix } from '../../engine/db/ids.ts'
import { one } from '../../engine/db/read/relation.ts'

export const jobIds = idsWithPrefix('job')

export const jobById = one('Job', 'id')

/** Why an attempt of a job failed, as its row stores it. */
export interface JobFailure {
  readonly code: string
  readonly message: string
  /** The number of the attempt, from 1. */
  readonly attempt: number
  /** When it failed, RFC 3339. */
  readonly at: string
}
