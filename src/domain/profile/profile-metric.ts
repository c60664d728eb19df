import { type Database, dataModel } from '@fusion-gateway/database'
import { type Relation, relationTo } from '@fusion-gateway/prisma-trees'
import { statement, sumOfBatches, sumOfTenants } from '@fusion-gateway/sql'
import type { Seed } from '../resource.ts'
import { profileSeed } from './profile.ts'

/** The numbers of a profile that a row of its history has. */
export const metricFields = [
  'followersCount',
  'followingCount',
  'subscribersCount',
  'contentsCount',
  'watchTimeInHours',
] as const

export type MetricField = (typeof metricFields)[number]

/** A row of a profile's history as a tree reads it: the numbers at the end of a day. */
export type MetricRow = Readonly<Record<MetricField, bigint | number | null>> & {
  /** In UTC: `2026-01-31`. */
  readonly day: string
}

const related = dataModel('Profile').relationOf('metrics')
if (!related) throw new Error('A profile has no metrics')

/** The history of a profile. It is read in parts, newest first. */
export const metricsOfProfile = relationTo(related) as Relation<Relation['model'], readonly MetricRow[]>

const pageSize = 500

const listTenants = statement('SELECT id FROM tenant_app ORDER BY id')

const removeOld = statement(`
  DELETE FROM profile_metric WHERE tenant_app_id = $1 AND (profile_id, day) IN (
    SELECT profile_id, day FROM profile_metric WHERE tenant_app_id = $1 AND day <= (now() AT TIME ZONE 'UTC')::date - $2::integer
    ORDER BY day LIMIT ${pageSize} FOR UPDATE SKIP LOCKED)`)

/**
 * Removes the numbers of days that are over for long, page by page.
 *
 * @param days how many days stay, of which today is one. 0: none
 */
export function removeOldMetrics({ sql }: Pick<Database, 'sql'>, days: number): Promise<number> {
  return sql
    .query(listTenants)
    .then((tenants) =>
      sumOfTenants(sql, tenants, (tenantAppId, own) =>
        sumOfBatches(pageSize, () => own.execute(removeOld, [tenantAppId, String(days)])),
      ),
    )
}

const [weeks, dayMilliseconds] = [13, 86_400_000]

/** Histories have three times as many rows as all else, so only the first people of a large seed have them. */
const people = 25

/** The numbers of each week before the last synchronization. The trigger has written the last ones. */
export const metricSeed: Seed = {
  model: 'ProfileMetric',
  rowsOf(person) {
    if (person.number > people) return []
    const random = person.randomOf('metric')
    return (profileSeed.rowsOf?.(person) ?? []).flatMap(({ tenantAppId = null, id = null, syncedAt, ...now }) => {
      const lost = random.next() * 0.03
      return Array.from({ length: weeks }, (_, index) => {
        const part = 1 - lost * (index + random.next())
        const numberOf = (field: MetricField) => Math.round(Number(now[field] ?? 0) * part)
        return {
          tenantAppId,
          profileId: id,
          day: new Date((syncedAt as Date).getTime() - 7 * (index + 1) * dayMilliseconds).toISOString().slice(0, 10),
          followersCount: numberOf('followersCount'),
          followingCount: numberOf('followingCount'),
          contentsCount: numberOf('contentsCount'),
          watchTimeInHours: numberOf('watchTimeInHours'),
        }
      })
    })
  },
}
