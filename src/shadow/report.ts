import { createHistogram, type RecordableHistogram } from 'node:perf_hooks'
import type { Difference, Kind } from './compare.ts'
import { createIgnore } from './ignore.ts'
import { cut, maskedText, shownValue } from './mask.ts'

/** A request, as the report names it. */
export interface ReportedRequest {
  readonly method: string
  /** The path with the query string. */
  readonly target: string
}

/** A kind of difference in one place of the responses of a route. */
export interface Group {
  readonly route: string
  readonly path: string
  readonly kind: Kind
  /** The number of responses that have it, and of places in them: one for each user of a list, for example. */
  responses: number
  values: number
  readonly example: { readonly request: string; readonly old: string; readonly new: string }
}

/** What a comparison has found. The option --json prints it. */
export interface Summary {
  readonly requests: number
  readonly compared: number
  readonly equal: number
  readonly different: number
  /** The requests that were not compared, by the reason. */
  readonly notCompared: Readonly<Record<string, number>>
  /** The differences, most responses first. */
  readonly differences: readonly Group[]
  /** What differs although the contract leaves it open: no response is different because of it. */
  readonly notes: readonly Group[]
  /** The differences beyond the most groups that are kept. */
  readonly otherDifferences: number
  /** The time to the end of a response, in milliseconds: of all, and of the routes that came first. */
  readonly milliseconds: { readonly old: Times; readonly new: Times }
  readonly routes: readonly { readonly route: string; readonly old: Times; readonly new: Times }[]
}

export interface Times {
  readonly requests: number
  readonly p50: number
  readonly p95: number
}

export interface ReportOptions {
  /** Paths of `--ignore`. */
  readonly ignored?: readonly string[]
  /** Whether examples have values, instead of their form. */
  readonly showsValues?: boolean
}

/** The most groups of a report, so that it has a bounded size after any number of requests. */
const maxGroups = 1_000

/** The most reasons for which requests were not compared. */
const maxReasons = 50

/** The most routes whose times are known. */
const maxRoutes = 50

const notedKinds: readonly Kind[] = ['reordered', 'cost', 'statements']

/** The kinds whose examples have no values of users. */
const publicKinds: readonly Kind[] = ['status', 'format', 'failure', 'cost', 'statements']

export type Report = ReturnType<typeof createReport>

/** Creates a report that collects the differences of any number of responses in bounded memory. */
export function createReport({ ignored = [], showsValues = false }: ReportOptions = {}) {
  const isIgnored = createIgnore(ignored)
  const groups = new Map<string, Group>()
  const reasons = new Map<string, number>()
  const times = createTimes()
  const timesOfRoutes = new Map<string, ReturnType<typeof createTimes>>()
  let [requests, equal, different, otherDifferences] = [0, 0, 0, 0]

  function groupOf(route: string, request: ReportedRequest, difference: Difference): Group | undefined {
    const { path, kind, old, new: other } = difference
    const isPublic = publicKinds.includes(kind)
    const key = JSON.stringify([route, path, kind, ...(kind === 'status' || kind === 'failure' ? [old, other] : [])])
    const known = groups.get(key)
    if (known) return known
    if (groups.size >= maxGroups) return undefined
    const isMasked = !showsValues && !isPublic
    const example = {
      request: nameOf(request, showsValues),
      old: shownValue(old, isMasked),
      new: shownValue(other, isMasked),
    }
    const group = { route, path, kind, responses: 0, values: 0, example }
    groups.set(key, group)
    return group
  }

  return {
    /** Creates the collector of the differences of one pair of responses. */
    begin(route: string, request: ReportedRequest) {
      const found = new Set<Group>()
      let isDifferent = false
      return {
        add(difference: Difference, values = 1): void {
          if (isIgnored(difference.path)) return
          if (!notedKinds.includes(difference.kind)) isDifferent = true
          const group = groupOf(route, request, difference)
          if (!group) {
            otherDifferences += values
            return
          }
          if (!found.has(group)) group.responses += 1
          found.add(group)
          group.values += values
        },
        /** Ends the comparison of these responses. */
        end(): void {
          requests += 1
          if (isDifferent) different += 1
          else equal += 1
        },
      }
    },

    /** Counts a request whose responses were not compared. */
    skip(reason: string): void {
      requests += 1
      const name = reasons.has(reason) || reasons.size < maxReasons ? reason : 'other reasons'
      reasons.set(name, (reasons.get(name) ?? 0) + 1)
    },

    addTime(route: string, side: 'old' | 'new', milliseconds: number): void {
      const microseconds = Math.min(Math.max(1, Math.round(milliseconds * 1_000)), maxMicroseconds)
      times[side].record(microseconds)
      if (!timesOfRoutes.has(route) && timesOfRoutes.size < maxRoutes) timesOfRoutes.set(route, createTimes())
      timesOfRoutes.get(route)?.[side].record(microseconds)
    },

    summary(): Summary {
      const all = [...groups.values()].toSorted((one, other) => other.responses - one.responses)
      return {
        requests,
        compared: equal + different,
        equal,
        different,
        notCompared: Object.fromEntries(reasons),
        differences: all.filter(({ kind }) => !notedKinds.includes(kind)),
        notes: all.filter(({ kind }) => notedKinds.includes(kind)),
        otherDifferences,
        milliseconds: { old: timesOf(times.old), new: timesOf(times.new) },
        routes: [...timesOfRoutes].map(([route, { old, new: other }]) => {
          return { route, old: timesOf(old), new: timesOf(other) }
        }),
      }
    },
  }
}

const maxMicroseconds = 3_600_000_000

/** Histograms of a few KiB each. */
function createTimes() {
  const create = () => createHistogram({ lowest: 1, highest: maxMicroseconds, figures: 2 })
  return { old: create(), new: create() }
}

function timesOf(histogram: RecordableHistogram): Times {
  const at = (percent: number) => (histogram.count === 0 ? 0 : Math.round(histogram.percentile(percent) / 100) / 10)
  return { requests: histogram.count, p50: at(50), p95: at(95) }
}

/** Parameters whose values are no personal ones. */
const shownParameters = new Set(['limit', 'cursor', 'account_ids', 'status', 'job_type'])

/** `GET /users?email=aaa@aaaaaaa.aaa`. Ids are shown, because without them nobody can look into an example. */
function nameOf({ method, target }: ReportedRequest, showsValues: boolean): string {
  const [path = '', query] = target.split('?', 2)
  const shownPath = showsValues ? path : path.replace(/[^/]*(@|%40)[^/]*/gi, maskedText)
  const parameters = [...new URLSearchParams(query ?? '')].map(([name, value]) => {
    return `${name}=${showsValues || shownParameters.has(name) ? value : maskedText(value)}`
  })
  const suffix = parameters.length > 0 ? `?${parameters.join('&')}` : ''
  return cut(`${method} ${shownPath}${suffix}`)
}
