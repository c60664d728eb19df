import { applyPatch } from 'rfc6902'
import { describe, expect, it } from 'vitest'
import { patchOf } from '../src/live/patch.ts'

/** Numbers from 0 to 1, the same each time. */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return state / 2 ** 31
  }
}

const keys = ['id', 'name', 'a/b', '~', '', 'nodes', 'node']

/** A random JSON value, whose lists have objects with ids, edges, or anything. */
function jsonOf(random: () => number, depth = 0): unknown {
  const pick = Math.floor(random() * (depth > 3 ? 4 : 7))
  const simple = [null, true, Math.floor(random() * 3), String(Math.floor(random() * 3))]
  if (pick < 4) return simple[pick]
  if (pick === 4)
    return Object.fromEntries(keys.filter(() => random() < 0.4).map((key) => [key, jsonOf(random, depth + 1)]))
  const length = Math.floor(random() * 5)
  if (pick === 5) return Array.from({ length }, () => jsonOf(random, depth + 1))
  const ids = Array.from({ length: 6 }, (_, id) => ({ id, at: random() })).toSorted((one, other) => one.at - other.at)
  const isEdges = random() < 0.3
  return ids.slice(0, length).map(({ id }) => {
    const row = { id: String(id), below: jsonOf(random, depth + 1) }
    return isEdges ? { node: row } : row
  })
}

describe('a patch', () => {
  it('makes one value of the other, for random values', () => {
    const random = createRandom(11)
    for (let round = 0; round < 3_000; round += 1) {
      const before = { data: jsonOf(random) }
      const after = { data: jsonOf(random) }
      const patched = structuredClone(before)
      const errors = applyPatch(patched, structuredClone(patchOf(before, after)))
      expect(errors.filter((error) => error !== null)).toEqual([])
      expect(patched).toEqual(after)
    }
  })

  it.each([
    [
      'a field of a row',
      [
        { id: 'a', n: 1 },
        { id: 'b', n: 1 },
      ],
      [
        { id: 'a', n: 1 },
        { id: 'b', n: 2 },
      ],
      [{ op: 'replace', path: '/1/n', value: 2 }],
    ],
    ['a row that enters', [{ id: 'b' }], [{ id: 'a' }, { id: 'b' }], [{ op: 'add', path: '/0', value: { id: 'a' } }]],
    ['a row that leaves', [{ id: 'a' }, { id: 'b' }], [{ id: 'b' }], [{ op: 'remove', path: '/0' }]],
    [
      'a row that moves',
      [{ id: 'a' }, { id: 'b' }],
      [{ id: 'b' }, { id: 'a' }],
      [{ op: 'move', from: '/0', path: '/1' }],
    ],
    [
      'one row that moves to the end',
      [{ id: 'a' }, { id: 'b' }, { id: 'c' }],
      [{ id: 'b' }, { id: 'c' }, { id: 'a' }],
      [{ op: 'move', from: '/0', path: '/2' }],
    ],
    ['nothing', { a: [1, { b: null }] }, { a: [1, { b: null }] }, []],
  ])('names %s', (_, before, after, patch) => {
    expect(patchOf(before, after)).toEqual(patch)
  })
})
