import type { Event as EventRow } from '@fusion-gateway/database'

/** The types of events, and what they mean. Triggers write them (migration event_log). */
export const eventTypes = {
  USER_CREATED: 'A user was created.',
  USER_UPDATED: 'A user was changed.',
  USER_DELETED: 'A user was deleted.',
  ACCOUNT_LINKED: 'An account was linked to a user.',
  ACCOUNT_UPDATED: 'An account was changed.',
  ACCOUNT_UNLINKED: 'An account was unlinked, or its user was deleted. Its profile was deleted with it.',
  PROFILE_SYNCED:
    'A profile or its emails were created or changed, or SQL deleted a profile alone. A sync that changes nothing has no event.',
  JOB_CREATED: 'A job was created.',
  JOB_STARTED: 'A worker started an attempt of a job.',
  JOB_UPDATED: 'A worker reported progress of a job, or an import changed it.',
  JOB_SUCCEEDED: 'A job succeeded.',
  JOB_FAILED: 'The last attempt of a job failed.',
  JOB_CANCELLED: 'A job was cancelled.',
  JOB_RETRIED: 'A job waits for another attempt, because one failed or a client retried the job.',
  WEBHOOK_DISABLED: 'A webhook was disabled, by a client or because its deliveries failed.',
} as const

export type EventType = keyof typeof eventTypes

export interface Event extends Omit<EventRow, 'type' | 'tenantAppId' | 'changedFields'> {
  readonly type: EventType
  readonly changedFields: readonly string[] | null
}

/** Whether an event can have this id. Ids sort in the order of the log. */
export function isEventId(id: string): boolean {
  return /^evt_[0-9a-f]{24}$/.test(id)
}

/** What the ids of a transaction's events begin with: `evt_` and 12 digits (`event_prefix` of the database). */
export function transactionOf(id: string): string {
  return id.slice(0, 16)
}
