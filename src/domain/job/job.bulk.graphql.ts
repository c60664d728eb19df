import { pointsOfScan } from '../../engine/graphql/schema/field-metadata.ts'
import { defineMutation } from '../../engine/graphql/schema/mutation.ts'
import { type BulkResult, changeJobs } from './job.bulk.service.ts'
import { JobFilter } from './job.graphql.ts'
import { bulkInput, maxBulk } from './job.input.ts'
import type { BulkTransition } from './store/bulk-texts.ts'

/** The points of a bulk action: one for each job that it may change, and those of the search for them. */
function pointsOf({ input }: Readonly<Record<string, unknown>>): number {
  const { data } = bulkInput.safeParse(input)
  return pointsOfScan + (data?.limit ?? maxBulk)
}

interface BulkAction {
  readonly transition: BulkTransition
  readonly description: string
  /** What the action has done with a job: `cancelled`. */
  readonly done: string
}

function defineBulkAction(name: string, { transition, description, done }: BulkAction): void {
  defineMutation(name, {
    scope: 'jobs:write',
    description: `${description} Jobs that another transaction is changing at this moment are skipped.`,
    inputDescription: `The jobs to ${transition}.`,
    input: (t) => ({
      filter: t.field({
        type: JobFilter.type,
        required: true,
        description: `Selects jobs. \`{}\` selects all that can be ${done}. A state in which a job cannot be ${done} is rejected, and so is a condition that is null or a variable without a value.`,
      }),
      limit: t.int({ description: 'The maximum number of jobs: 1–1,000. 1,000 by default.' }),
    }),
    restrictions: { fields: ['filter'] },
    cost: { extra: pointsOf },
    results: [
      {
        field: `${done}Count`,
        type: 'Int',
        description: `The number of jobs that were ${done}.`,
        value: ({ changedCount }: BulkResult) => changedCount,
      },
      {
        field: 'remainingCount',
        type: 'Int',
        description: `The number of jobs that match and can still be ${done}. They are counted only if requested.`,
        scope: 'jobs:read',
        cost: { extra: () => pointsOfScan },
        value: ({ countRemaining }: BulkResult) => countRemaining(),
      },
    ],
    hasOneWrite: true,
    run(context, { filter, limit }) {
      const { status, ...others } = filter
      return changeJobs(context, transition, { status, conditions: JobFilter.conditionsOf(others, context), limit })
    },
  })
}

defineBulkAction('cancelJobs', {
  transition: 'cancel',
  description: 'Cancels the oldest jobs that match a filter and wait or run.',
  done: 'cancelled',
})

defineBulkAction('retryJobs', {
  transition: 'retry',
  description:
    'Makes the oldest failed or cancelled jobs that match a filter due again, each with its remaining attempts, but at least one.',
  done: 'retried',
})
