import type { Random } from '../resource.ts'

/** mulberry32. @see https://gist.github.com/tommyettinger/46a874533244883189143505d203312c */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const below = (limit: number) => Math.floor(next() * limit)
  return { next, below, pick: (items) => items[below(items.length)] as (typeof items)[number] }
}
