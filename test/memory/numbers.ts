/**
 * The numbers that one writer writes, one after the other, to one value. A read that begins after a number was
 * acknowledged must show this number or a later one.
 */
export class Numbers {
  private begun = 0
  private acknowledged = 0
  private readonly acknowledgedAt = new Map<number, number>()
  private readonly rolledBack = new Set<number>()
  private readonly gone = new Set<number>()
  /** The latest numbers that were read, by the place where they were read. */
  private readonly seen = new Map<string, number>()

  /** Takes the next number, before it is written. */
  begin(): number {
    this.begun += 1
    return this.begun
  }

  /** Takes the next number for the deletion of the value. */
  beginDeletion(): number {
    const number = this.begin()
    this.gone.add(number)
    return number
  }

  acknowledge(number: number): void {
    this.acknowledgedAt.set(number, performance.now())
    this.acknowledged = Math.max(this.acknowledged, number)
  }

  /**
   * When the first write was acknowledged, in milliseconds, because of which `last` is no longer shown, but `shown`.
   * Undefined if none was. What was absent can have been created and deleted again unseen.
   */
  acknowledgedAfter(last: number, shown: number): number | undefined {
    let from = last
    if (this.isGone(last)) for (let number = last; number < shown; number += 1) if (this.isGone(number)) from = number
    for (let number = from + 1; number <= shown; number += 1) {
      const at = this.rolledBack.has(number) ? undefined : this.acknowledgedAt.get(number)
      if (at !== undefined) return at
    }
    return undefined
  }

  rollBack(number: number): void {
    this.rolledBack.add(number)
  }

  /** Sets what was found when nothing is being written, after writes that had no response. */
  settle(found: number | undefined): void {
    const possible = this.candidates(this.acknowledged).filter((number) => !this.rolledBack.has(number))
    const left = possible.filter((number) => (found === undefined ? this.isGone(number) : number === found))
    const [number] = left.slice(-1)
    if (number === undefined) throw new Error(`${found} was never written: ${this.describe(this.acknowledged)}`)
    for (const other of possible) if (other > number) this.rolledBack.add(other)
    this.acknowledge(number)
  }

  /** Sets what a restored backup has. No number that it does not have may be shown any more. */
  restore(found: number | undefined): void {
    const number = found ?? 0
    for (let other = 1; other <= this.begun; other += 1) if (other !== number) this.rolledBack.add(other)
    // A write without a response can have ended after its failure was noted.
    this.rolledBack.delete(number)
    this.acknowledged = number
    this.seen.clear()
  }

  /** The earliest number that a read may show that begins now. */
  floor(place: string | undefined): number {
    const seen = place === undefined ? 0 : (this.seen.get(place) ?? 0)
    return Math.max(this.acknowledged, seen)
  }

  /** The numbers that a read may show that began when `floor` was the earliest one, and that ends now. */
  candidates(floor: number): number[] {
    const numbers = Array.from({ length: this.begun - floor + 1 }, (_, index) => floor + index)
    return numbers.filter((number) => !this.rolledBack.has(number))
  }

  mayBeAbsent(floor: number): boolean {
    return this.candidates(floor).some((number) => this.isGone(number))
  }

  mayBePresent(floor: number): boolean {
    return this.candidates(floor).some((number) => !this.isGone(number))
  }

  mayBe(number: number, floor: number): boolean {
    return number >= floor && number <= this.begun && !this.rolledBack.has(number) && !this.isGone(number)
  }

  /** Notes a number that a read has shown. No later read at the same place may show an earlier one. */
  see(number: number, place: string | undefined): void {
    if (place !== undefined) this.seen.set(place, Math.max(number, this.seen.get(place) ?? 0))
  }

  isGone(number: number): boolean {
    return number === 0 || this.gone.has(number)
  }

  describe(floor: number): string {
    const gone = this.candidates(floor).filter((number) => this.isGone(number))
    return `${floor} to ${this.begun}${gone.length > 0 ? `, deleted by ${gone.join()}` : ''}`
  }
}
