import { invalidField } from '@fusion-gateway/base'
import { nodeOf, oncePerField } from '@fusion-gateway/pothos-trees'
import { byTime, type RelatedRows, type Relation } from '@fusion-gateway/prisma-trees'
import { builder } from '../builder.ts'
import { Profile } from './profile.graphql.ts'
import { type MetricField, type MetricRow, metricFields, metricsOfProfile } from './profile-metric.ts'

// The numbers of profiles over time, which are read by the statement of the profiles. No response with them is kept,
// because their model is not logged: retention and imports of past days write no events, and a range that ends now is
// another one tomorrow.

const ProfileMetric = builder.enumType('ProfileMetric', {
  description: 'A number of a profile that changes over time.',
  values: {
    FOLLOWERS: { value: 'followersCount', description: 'The number of followers.' },
    FOLLOWING: { value: 'followingCount', description: 'The number of accounts that the profile follows.' },
    SUBSCRIBERS: { value: 'subscribersCount', description: 'The number of subscribers.' },
    CONTENTS: { value: 'contentsCount', description: 'The number of posted items.' },
    WATCH_TIME: { value: 'watchTimeInHours', description: 'The total watch time of the content, in hours.' },
  } satisfies Record<string, { value: MetricField; description: string }>,
})

type Interval = 'DAY' | 'WEEK' | 'MONTH'

const HistoryInterval = builder.enumType('HistoryInterval', {
  description: 'The length of the intervals of a history, in UTC.',
  values: {
    DAY: { description: 'A day.' },
    WEEK: { description: 'A week, from Monday.' },
    MONTH: { description: 'A calendar month.' },
  } satisfies Record<Interval, { description: string }>,
})

interface MetricPoint {
  readonly at: Date
  readonly value: number | null
  readonly change: number | null
}

const MetricPoint = builder.objectRef<MetricPoint>('MetricPoint').implement({
  scope: 'inherited',
  description: 'A number of a profile in an interval.',
  fields: (t) => ({
    at: t.expose('at', { type: 'DateTime', description: 'The start of the interval, in UTC.' }),
    value: t.exposeFloat('value', {
      nullable: true,
      description: 'The last number in the interval. Null if the platform did not provide it.',
    }),
    change: t.exposeFloat('change', {
      nullable: true,
      description:
        'The difference to the point before, which can be earlier than the range. Null if there is none, or a number is missing.',
    }),
  }),
})

const [defaultDays, maxPoints, maxDays] = [90, 1_000, 36_500]
const dayMilliseconds = 86_400_000

/** A day in UTC, counted from 1970-01-01. */
const dayOf = (time: Date | string): number => Math.floor(new Date(time).getTime() / dayMilliseconds)
const dateOf = (day: number): Date => new Date(day * dayMilliseconds)

/** The first day of the interval that has a day. 1970-01-01 was a Thursday. */
function startOf(interval: Interval, day: number): number {
  if (interval === 'DAY') return day
  if (interval === 'WEEK') return day - ((((day + 3) % 7) + 7) % 7)
  const date = dateOf(day)
  return day - date.getUTCDate() + 1
}

/** How many intervals have a day of a range. */
function countOf(interval: Interval, first: number, last: number): number {
  if (interval !== 'MONTH')
    return (startOf(interval, last) - startOf(interval, first)) / (interval === 'DAY' ? 1 : 7) + 1
  const [from, to] = [dateOf(first), dateOf(last)]
  return (to.getUTCFullYear() - from.getUTCFullYear()) * 12 + to.getUTCMonth() - from.getUTCMonth() + 1
}

interface HistoryArguments {
  readonly metric: MetricField
  readonly from?: Date | null | undefined
  readonly to?: Date | null | undefined
  readonly interval?: Interval | null | undefined
}

const newestFirst = byTime('day', 'DESC')

const rowsWhere = (day: object, limit?: number): RelatedRows => ({
  where: { day },
  order: newestFirst,
  direction: 'DESC',
  ...(limit !== undefined && { limit }),
})

/** The points that a page of days costs: a row of a day has five numbers. */
const daysOfPoint = 10

const readHistory = oncePerField(({ metric, from, to, interval: given }: HistoryArguments, { loaders }) => {
  const end = to ?? new Date()
  const begin = from ?? new Date(end.getTime() - defaultDays * dayMilliseconds)
  if (begin > end) throw invalidField('from', 'OUT_OF_RANGE', 'must not be after `to`')
  const interval = given ?? 'DAY'
  const [first, last] = [startOf(interval, dayOf(begin)), dayOf(end)]
  const points = countOf(interval, first, last)
  if (points > maxPoints) {
    const message = `and \`to\` span ${points} intervals, and a history has at most ${maxPoints} points. Choose a shorter range or a longer interval`
    throw invalidField('from', 'OUT_OF_RANGE', message)
  }
  const within = loaders.restrict(metricsOfProfile, rowsWhere({ gte: dateOf(first), lte: dateOf(last) }))
  const before = loaders.restrict(metricsOfProfile, rowsWhere({ lt: dateOf(first) }, 1))
  return { metric, interval, within, before }
})

/** The points of rows that are the newest first. */
function pointsOf(
  { metric, interval }: { readonly metric: MetricField; readonly interval: Interval },
  within: readonly MetricRow[],
  [before]: readonly MetricRow[],
): MetricPoint[] {
  const points: MetricPoint[] = []
  let previous = before && numberOf(before, metric)
  let start: number | undefined
  let value: number | null = null
  const add = () => {
    if (start === undefined) return
    const change = value === null || previous == null ? null : value - previous
    points.push({ at: dateOf(start), value, change })
    previous = value
  }
  for (const row of within.toReversed()) {
    const next = startOf(interval, dayOf(row.day))
    if (next !== start) add()
    start = next
    value = numberOf(row, metric)
  }
  add()
  return points
}

/** The number of a row or of a profile. */
function numberOf(row: Readonly<Record<MetricField, bigint | number | null>>, metric: MetricField): number | null {
  const value = row[metric]
  return value === null ? null : Number(value)
}

/** Both at once, if the plan has read them already. */
function both<Result>(
  one: readonly MetricRow[] | Promise<readonly MetricRow[]>,
  other: readonly MetricRow[] | Promise<readonly MetricRow[]>,
  work: (one: readonly MetricRow[], other: readonly MetricRow[]) => Result,
): Result | Promise<Result> {
  if (one instanceof Promise || other instanceof Promise) return Promise.all([one, other]).then((read) => work(...read))
  return work(one, other)
}

builder.prismaObjectField(Profile, 'history', (t) =>
  t.field({
    type: [MetricPoint],
    description:
      'A number of the profile over time: a point for each interval in which a synchronization changed a number of the profile, oldest first. At most 1,000 points.',
    args: {
      metric: t.arg({ type: ProfileMetric, required: true, description: 'Which number.' }),
      from: t.arg({
        type: 'DateTime',
        description: 'The start of the range. The interval that has it is whole. 90 days before `to` by default.',
      }),
      to: t.arg({ type: 'DateTime', description: 'The end of the range. Its day is whole. Now by default.' }),
      interval: t.arg({ type: HistoryInterval, defaultValue: 'DAY', description: 'The length of the intervals.' }),
    },
    cost: {
      extra({ from, to }) {
        const end = typeof to === 'string' ? Date.parse(to) : Date.now()
        const days = typeof from === 'string' ? (end - Date.parse(from)) / dayMilliseconds : defaultDays
        return Math.ceil(Math.min(Math.max(days || defaultDays, 1), maxDays) / daysOfPoint)
      },
    },
    columns: ['id'],
    relation: {
      relation: metricsOfProfile as Relation,
      from: 'id',
      fields: metricFields,
      restrict(node, args, context) {
        const { within, before } = readHistory(node, args as () => HistoryArguments, context)
        return [within, before]
      },
    },
    resolve({ id }, args, context, info) {
      const read = readHistory(nodeOf(info), () => args, context)
      const [within, before] = [context.loaders.load(read.within, id), context.loaders.load(read.before, id)]
      return both(within, before, (rows, earlier) => pointsOf(read, rows, earlier))
    },
  }),
)

const readGrowth = oncePerField(({ days }: { readonly days: number }, { loaders }) => {
  if (days < 0 || days > maxDays) throw invalidField('days', 'OUT_OF_RANGE', `must be from 0 to ${maxDays}`)
  return loaders.restrict(metricsOfProfile, rowsWhere({ lte: dateOf(dayOf(new Date()) - days) }, 1))
})

builder.prismaObjectField(Profile, 'growth', (t) =>
  t.float({
    nullable: true,
    description:
      'The difference between a number of the profile and the one that it had so many days ago, at the end of the day in UTC. Null if either is unknown.',
    args: {
      metric: t.arg({ type: ProfileMetric, required: true, description: 'Which number.' }),
      days: t.arg.int({ required: true, defaultValue: 30, description: 'The number of days: 0–36,500.' }),
    },
    cost: { extra: () => 1 },
    columns: ['id', ...metricFields],
    relation: {
      relation: metricsOfProfile as Relation,
      from: 'id',
      fields: metricFields,
      restrict: (node, args, context) => readGrowth(node, args as () => { readonly days: number }, context),
    },
    resolve(profile, { metric, days }, context, info) {
      const now = numberOf(profile, metric)
      const difference = ([then]: readonly MetricRow[]) => {
        const before = then && numberOf(then, metric)
        return now === null || before == null ? null : now - before
      }
      const rows = context.loaders.load(
        readGrowth(nodeOf(info), () => ({ days }), context),
        profile.id,
      )
      return rows instanceof Promise ? rows.then(difference) : difference(rows)
    },
  }),
)
