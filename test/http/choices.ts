/** Makes choices from numbers that fast-check generates, so that fast-check can shrink a failing request. */
export class Choices {
  private at = 0
  private readonly numbers: readonly number[]
  private readonly isWild: boolean

  constructor(numbers: readonly number[]) {
    this.numbers = numbers
    this.isWild = (numbers[0] ?? 0) % 2 === 0
  }

  below(options: number): number {
    const number = this.numbers[this.at % this.numbers.length] ?? 0
    this.at += 1
    return (number + this.at) % options
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)] as Item
  }

  /** Whether to choose something unusual. Half of the requests contain nothing unusual, so that many succeed. */
  rarely(): boolean {
    return this.isWild && this.below(9) === 0
  }
}

/** Values that no schema asks for. */
export const junk: readonly unknown[] = [
  null,
  true,
  -1,
  0,
  1.5,
  1e300,
  2 ** 31,
  '',
  ' ',
  'x',
  'a@b.c',
  '\u0000',
  '\ud800',
  "'; DROP TABLE job; --",
  '%',
  [],
  {},
  [[]],
  [null],
  { id: 1 },
  'x'.repeat(400),
  '2026-01-01',
  '2026-02-30T00:00:00Z',
  '__proto__',
  '😀',
  '../..',
]
