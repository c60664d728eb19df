import type { DataModel } from '../../../engine/db/data-model.ts'
import type { JobStatus } from '../../../engine/db/generated/prisma/enums.ts'
import { type Condition, createClause } from '../../../engine/db/read/list.ts'
import { createOwnerships } from '../../../engine/db/read/owner.ts'
import { maxTypeLength, typePattern } from '../job.input.ts'
import { toCancelled, toRetried } from './statements.ts'

/** The transitions that many jobs can make at once. `where`: what a job needs for it besides its state. */
const changes = {
  cancel: { update: toCancelled, where: [] },
  retry: {
    update: toRetried,
    // No worker can name another type.
    where: [`job_type ~ '${typePattern.source}'`, `length(job_type) <= ${maxTypeLength}`],
  },
} as const

export type BulkTransition = keyof typeof changes

/** The jobs of a tenant that can make a transition and meet the conditions. */
export interface JobSelection {
  readonly tenantAppId: string
  readonly transition: BulkTransition
  /** States in which the transition is possible. */
  readonly states: readonly JobStatus[]
  /** Conditions on other fields than the state. */
  readonly conditions: readonly Condition[]
}

/** Returns the functions that return the statements of bulk actions. */
export function createBulkTexts(model: DataModel) {
  const ownershipOf = createOwnerships(model)

  function clauseOf({ tenantAppId, transition, states, conditions }: JobSelection) {
    const { parts, parameters, parameter } = createClause(model, 'Job', ownershipOf({ tenantAppId }), conditions)
    const all = [...parts, ...changes[transition].where]
    // The embedded database knows the list types that exist when it starts. On its first start that is before the
    // migrations.
    return { where: all.join(' AND '), states: `${parameter(states, 'text[]')}::job_status[]`, parameters, parameter }
  }

  return {
    /**
     * Changes the oldest jobs. An index has the jobs of each state in their order, so each state is read on its own, up
     * to the limit. The ids are an array, which leads PostgreSQL to the primary key. It would estimate the rows of a
     * join, and could read the whole table.
     */
    changeText(selection: JobSelection, limit: number) {
      const { where, states, parameters, parameter } = clauseOf(selection)
      const count = parameter(String(limit), 'integer')
      const text = `${changes[selection.transition].update}
      WHERE tenant_app_id = $1 AND id = ANY (ARRAY(
        SELECT oldest.id FROM unnest(${states}) AS state (name)
        CROSS JOIN LATERAL (
          SELECT id, created_at FROM job WHERE ${where} AND status = state.name
          ORDER BY created_at, id LIMIT ${count} FOR UPDATE SKIP LOCKED) AS oldest
        ORDER BY oldest.created_at, oldest.id LIMIT ${count}))`
      return { text, parameters }
    },
    countText(selection: JobSelection) {
      const { where, states, parameters } = clauseOf(selection)
      return { text: `SELECT count(*) FROM job WHERE ${where} AND status = ANY (${states})`, parameters }
    },
  }
}
