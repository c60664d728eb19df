import { ownValue } from '@fusion-gateway/base'

/** An operation of a JSON Patch. @see https://www.rfc-editor.org/rfc/rfc6902 */
export type PatchOperation =
  | { readonly op: 'add' | 'replace'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }
  | { readonly op: 'move'; readonly from: string; readonly path: string }

/**
 * Returns what makes one JSON value of another. Objects of a list are the same ones if they have the same `id`; without
 * ids, a list of another length is replaced.
 */
export function patchOf(before: unknown, after: unknown): PatchOperation[] {
  const operations: PatchOperation[] = []
  compare('', before, after, operations)
  return operations
}

function compare(path: string, before: unknown, after: unknown, operations: PatchOperation[]): void {
  if (Object.is(before, after)) return
  if (Array.isArray(before) && Array.isArray(after)) compareLists(path, before, after, operations)
  else if (isObject(before) && isObject(after)) compareObjects(path, before, after, operations)
  else operations.push({ op: 'replace', path, value: after })
}

type Json = Readonly<Record<string, unknown>>

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
}

function compareObjects(path: string, before: Json, after: Json, operations: PatchOperation[]): void {
  for (const key of Object.keys(before)) {
    if (!Object.hasOwn(after, key)) operations.push({ op: 'remove', path: below(path, key) })
  }
  for (const [key, value] of Object.entries(after)) {
    const known = ownValue(before, key)
    // JSON has no undefined.
    if (known === undefined) operations.push({ op: 'add', path: below(path, key), value })
    else compare(below(path, key), known, value, operations)
  }
}

function compareLists(
  path: string,
  before: readonly unknown[],
  after: readonly unknown[],
  operations: PatchOperation[],
): void {
  const [idsBefore, idsAfter] = [idsOf(before), idsOf(after)]
  if (!idsBefore || !idsAfter) {
    if (before.length !== after.length) operations.push({ op: 'replace', path, value: after })
    else for (const [at, value] of after.entries()) compare(below(path, at), before[at], value, operations)
    return
  }
  const known = new Map(idsBefore.map((id, at) => [id, before[at]]))
  const kept = new Set(idsAfter)
  /** The ids of the list, as far as the operations have changed it. */
  const list = [...idsBefore]
  for (let at = list.length - 1; at >= 0; at -= 1) {
    if (kept.has(list[at] as string)) continue
    operations.push({ op: 'remove', path: below(path, at) })
    list.splice(at, 1)
  }
  const move = (from: number, to: number) => {
    operations.push({ op: 'move', from: below(path, from), path: below(path, to) })
    list.splice(to, 0, ...list.splice(from, 1))
  }
  const places = new Map(idsAfter.map((id, at) => [id, at]))
  for (const [at, id] of idsAfter.entries()) {
    if (!known.has(id)) {
      operations.push({ op: 'add', path: below(path, at), value: after[at] })
      list.splice(at, 0, id)
      continue
    }
    const other = list[at]
    // One that moves back by many places is moved once, and not all those before it.
    if (other !== undefined && other !== id && list[at + 1] === id) {
      move(at, Math.min(places.get(other) ?? 0, list.length - 1))
    } else if (other !== id) move(list.indexOf(id, at), at)
    compare(below(path, at), known.get(id), after[at], operations)
  }
}

/** The ids of the objects of a list; undefined if they do not all have one of their own. */
function idsOf(list: readonly unknown[]): string[] | undefined {
  const ids = list.map((value) => (isObject(value) ? (value['id'] ?? idOfEdge(value)) : undefined))
  const known = ids.filter((id) => typeof id === 'string')
  return known.length === list.length && new Set(known).size === known.length ? known : undefined
}

/** An edge of a connection is the same one if its node is. */
function idOfEdge({ node }: Json): unknown {
  return isObject(node) ? node['id'] : undefined
}

const below = (path: string, key: string | number) =>
  `${path}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`
