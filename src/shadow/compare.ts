import { ownValue } from '@fusion-gateway/base'
import { readMoment } from '../old-service/moments.ts'
import { hasOrder } from './contract.ts'

/** How two responses differ in one place. docs/migrating.md explains each. */
export type Kind =
  | 'failure'
  | 'status'
  | 'header'
  | 'format'
  | 'missing'
  | 'added'
  | 'null'
  | 'type'
  | 'value'
  | 'precision'
  | 'order'
  | 'reordered'
  | 'cost'
  | 'statements'

/** A difference, with what each side has. Undefined is absent. */
export interface Difference {
  /** `status`, `headers.location`, or a path in the JSON: `$.users[*].phone`. */
  readonly path: string
  readonly kind: Kind
  readonly old: unknown
  readonly new: unknown
}

export type OnDifference = (difference: Difference) => void

/** Objects and lists deeper than this are not compared. */
const maxDepth = 100

/** What cannot be compared. The message says why, in the words of the report. */
export class NotComparable extends Error {
  override readonly name = 'NotComparable'
}

/**
 * Compares two values of JSON by their meaning. The order of keys means nothing, and that of a list only where the
 * contract has one. Two texts of the same moment are equal.
 *
 * @param route whose response it is: `GET /users`
 * @throws NotComparable if the values are nested too deeply
 */
export function compareJson(route: string, old: unknown, other: unknown, onDifference: OnDifference): void {
  new Comparison(route, onDifference).compare(old, other)
}

type JsonObject = Record<string, unknown>

class Comparison {
  /** The keys that lead to the values that are compared. */
  private readonly keys: string[] = []
  private readonly route: string
  private readonly onDifference: OnDifference

  constructor(route: string, onDifference: OnDifference) {
    this.route = route
    this.onDifference = onDifference
  }

  compare(old: unknown, other: unknown): void {
    if (old === other) return
    if (this.keys.length > maxDepth) throw new NotComparable('JSON that is nested too deeply')
    if (typeOf(old) !== typeOf(other)) {
      this.report(old === null || other === null ? 'value' : 'type', old, other)
    } else if (Array.isArray(old)) this.compareLists(old, other as unknown[])
    else if (typeof old === 'object') this.compareObjects(old as JsonObject, other as JsonObject)
    else if (typeof old === 'string') this.compareTexts(old, other as string)
    else this.report('value', old, other)
  }

  private report(kind: Kind, old: unknown, other: unknown): void {
    this.onDifference({ path: `$${this.keys.join('')}`, kind, old, new: other })
  }

  /** Compares below a key. */
  private within(key: string, work: () => void): void {
    this.keys.push(key)
    work()
    this.keys.pop()
  }

  private compareTexts(old: string, other: string): void {
    const [moment, otherMoment] = [readMoment(old), readMoment(other)]
    if (!moment || moment.second !== otherMoment?.second) this.report('value', old, other)
    else if (moment.fraction !== otherMoment.fraction) {
      const isSameMillisecond = toMillisecond(moment.fraction) === toMillisecond(otherMoment.fraction)
      this.report(isSameMillisecond ? 'precision' : 'value', old, other)
    }
  }

  private compareObjects(old: JsonObject, other: JsonObject): void {
    for (const key of Object.keys(old)) {
      this.within(segmentOf(key), () => {
        const value = ownValue(old, key)
        if (Object.hasOwn(other, key)) this.compare(value, ownValue(other, key))
        else this.report(value === null ? 'null' : 'missing', value, undefined)
      })
    }
    for (const key of Object.keys(other)) {
      if (Object.hasOwn(old, key)) continue
      const value = ownValue(other, key)
      this.within(segmentOf(key), () => this.report(value === null ? 'null' : 'added', undefined, value))
    }
  }

  private compareLists(old: readonly unknown[], other: readonly unknown[]): void {
    const isOrdered = hasOrder(this.route, `$${this.keys.join('')}`)
    const { pairs, missing, added, isReordered } = (isOrdered ? pairByPosition : pairByMeaning)(old, other)
    if (isReordered) this.report(isOrdered ? 'order' : 'reordered', idsOf(old), idsOf(other))
    this.within('[*]', () => {
      for (const [one, another] of pairs) this.compare(one, another)
      for (const item of missing) this.report('missing', item, undefined)
      for (const item of added) this.report('added', undefined, item)
    })
  }
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'list' : typeof value
}

const toMillisecond = (fraction: string) => fraction.padEnd(3, '0').slice(0, 3)

/**
 * A key in a path. Keys that look like data, such as an email address, are `*`: a report neither shows them nor has a
 * group for each.
 */
function segmentOf(key: string): string {
  return /^[A-Za-z_][\w-]{0,63}$/.test(key) ? `.${key}` : '.*'
}

interface Pairs {
  readonly pairs: readonly (readonly [unknown, unknown])[]
  readonly missing: readonly unknown[]
  readonly added: readonly unknown[]
  /** Whether both lists have the same items in another order. */
  readonly isReordered: boolean
}

/**
 * Pairs the items of lists whose order means something. If both have the same items in another order, that is one
 * difference, and not one of each field of each item.
 */
function pairByPosition(old: readonly unknown[], other: readonly unknown[]): Pairs {
  const length = Math.min(old.length, other.length)
  const byMeaning = old.length === other.length && old.length > 1 ? pairByMeaning(old, other) : undefined
  if (byMeaning?.isReordered && byMeaning.missing.length === 0) return byMeaning
  const pairs = old.slice(0, length).map((item, index) => [item, other[index]] as const)
  return { pairs, missing: old.slice(length), added: other.slice(length), isReordered: false }
}

/** Pairs items that have the same id, or are equal. Of the others, the first one of each list, and so on. */
function pairByMeaning(old: readonly unknown[], other: readonly unknown[]): Pairs {
  const byId = uniqueIds(old) !== undefined && uniqueIds(other) !== undefined
  const nameOf = byId ? (item: unknown) => String(idOf(item)) : canonicalText
  const places = new Map<string, number[]>()
  for (const [index, item] of other.entries()) {
    const name = nameOf(item)
    const known = places.get(name)
    if (known) known.push(index)
    else places.set(name, [index])
  }
  const pairs: [unknown, unknown][] = []
  const missing: unknown[] = []
  const taken = new Set<number>()
  let last = -1
  let isReordered = false
  for (const item of old) {
    const index = places.get(nameOf(item))?.shift()
    if (index === undefined) {
      missing.push(item)
      continue
    }
    pairs.push([item, other[index]])
    taken.add(index)
    if (index < last) isReordered = true
    last = index
  }
  const added = other.filter((_, index) => !taken.has(index))
  if (byId) return { pairs, missing, added, isReordered }
  const changed = Math.min(missing.length, added.length)
  for (let index = 0; index < changed; index += 1) pairs.push([missing[index], added[index]])
  return { pairs, missing: missing.slice(changed), added: added.slice(changed), isReordered }
}

function idOf(item: unknown): unknown {
  return ownValue(Object(item), 'id')
}

/** The ids of the items, if each has another one. */
function uniqueIds(items: readonly unknown[]): Set<unknown> | undefined {
  const ids = new Set(items.map(idOf))
  const isUnique = ids.size === items.length && items.every((item) => typeof idOf(item) === 'string')
  return isUnique ? ids : undefined
}

/** What an example of another order shows: a whole list can be long. */
function idsOf(items: readonly unknown[]): unknown[] {
  return items.slice(0, 5).map((item) => idOf(item) ?? item)
}

/** The same text for values that are equal by their meaning, except for the order of lists within. */
function canonicalText(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) => {
    if (typeof item === 'bigint') return `${item}n`
    if (typeof item === 'string') {
      const moment = readMoment(item)
      return moment ? `${moment.second}.${moment.fraction}` : item
    }
    if (typeof item !== 'object' || item === null || Array.isArray(item)) return item
    return Object.entries(item).toSorted(([one], [another]) => (one < another ? -1 : 1))
  })
}
