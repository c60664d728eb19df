import { idOf, type MarkedTenant } from '../soak/tenants.ts'
import { createVersions, type Versions } from './versions.ts'

export const kinds = ['users', 'names', 'accounts', 'profiles', 'jobs', 'completions'] as const

/** What the clients write. `names` are changes of a user, `completions` are results of jobs that HTTP workers ran. */
export type Kind = (typeof kinds)[number]

/** Counts of one kind of write. */
export interface Counts {
  sent: number
  /** Requests, with those that were sent again. */
  requests: number
  acknowledged: number
  /** Completions of workers that had lost the job. */
  rejected: number
  /** The writes whose effect was found at the end. */
  found: number
}

/** A user that a client created, with an account and its profile. */
export interface SentUser {
  readonly tenant: MarkedTenant
  readonly email: string
  /** Undefined until the creation is acknowledged. */
  id?: string
  accountId?: string
  /** Whether the creation was sent once, and answered with 503. */
  isRefused?: boolean
  readonly name: Versions
  readonly account: Versions
  readonly profile: Versions
}

/** A job that a client created. */
export interface SentJob {
  readonly tenant: MarkedTenant
  readonly mark: string
  readonly jobType: JobType
  /** Undefined until the creation is acknowledged. */
  id?: string
  /** The results of the HTTP workers whose completion was acknowledged. */
  readonly results: string[]
}

/** `echo` jobs are run by `fusion work`, `remote` jobs by clients over HTTP. */
export const jobTypes = ['echo', 'remote'] as const
export type JobType = (typeof jobTypes)[number]

/** What the clients have written. */
export interface Ledger {
  readonly counts: Readonly<Record<Kind, Counts>>
  /** The users whose creation was answered with 503 and not sent again: how many, and how many were found. */
  readonly refused: { sent: number; found: number }
  readonly users: readonly SentUser[]
  readonly jobs: readonly SentJob[]
  createUser(tenant: MarkedTenant): SentUser
  createJob(tenant: MarkedTenant, jobType: JobType): SentJob
  /** A text that no other row contains, with the mark of the tenant. */
  mark(prefix: string, tenant: MarkedTenant): string
}

/** Creates an empty ledger. */
export function createLedger(): Ledger {
  const users: SentUser[] = []
  const jobs: SentJob[] = []
  let rows = 0
  function mark(prefix: string, { number }: MarkedTenant): string {
    rows += 1
    return idOf(prefix, number, rows)
  }
  const zero = () => ({ sent: 0, requests: 0, acknowledged: 0, rejected: 0, found: 0 })
  return {
    users,
    jobs,
    mark,
    refused: { sent: 0, found: 0 },
    counts: Object.fromEntries(kinds.map((kind) => [kind, zero()])) as Record<Kind, Counts>,
    createUser(tenant) {
      const versions = { name: createVersions(), account: createVersions(), profile: createVersions() }
      const user: SentUser = { tenant, email: `${mark('new', tenant)}@example.com`, ...versions }
      users.push(user)
      return user
    },
    createJob(tenant, jobType) {
      const job: SentJob = { tenant, jobType, mark: mark('job', tenant), results: [] }
      jobs.push(job)
      return job
    },
  }
}

/** The progress of the clients in one line. */
export function formatCounts({ counts }: Ledger): string {
  const parts = Object.entries(counts).map(([kind, { sent, acknowledged }]) => `${kind} ${acknowledged}/${sent}`)
  return `acknowledged: ${parts.join(', ')}`
}
