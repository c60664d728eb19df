import { createEngineServices, type EngineOptions, type Services } from '../engine/context.ts'
import type { Database } from '../engine/db/database.ts'
import { createJobChanges, type JobChanges } from './job/changes/job-changes.ts'
import type { JobLimits } from './job/job.input.ts'
import { type Backoff, createJobStore, type JobStore } from './job/store/job-store.ts'

declare module '../engine/context.ts' {
  interface RequestServices {
    readonly jobs: JobStore
    readonly changes: JobChanges
  }
}

export interface ServicesOptions extends EngineOptions {
  readonly backoff: Backoff
  readonly jobLimits: JobLimits
}

/** Creates the services of an open database. They send no statement before they are used. */
export function createServices(database: Database, options: ServicesOptions): Services {
  return {
    ...createEngineServices(database, { userModel: 'User', longModels: ['Job'] }, options),
    jobs: createJobStore(database, options),
    changes: createJobChanges(database.driver),
  }
}
