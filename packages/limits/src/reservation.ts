/** The budget of a subject in the current minute. */
export interface Budget {
  /** Points per minute. */
  readonly points: number
  readonly remaining: number
  /** The time until the minute ends, in whole seconds. */
  readonly resetSeconds: number
}

/**
 * The headers that tell a client its budget. @see
 * https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
 */
export function budgetHeaders({ points, remaining, resetSeconds }: Budget): Record<string, string> {
  return {
    'ratelimit-policy': `"points";q=${points};w=60`,
    ratelimit: `"points";r=${remaining};t=${resetSeconds}`,
  }
}

/** The headers with the cost of an operation, also of a refused one, and the points that had to be left for it. */
export function costHeaders(cost: number, requested: number): Record<string, string> {
  return { 'x-cost': String(cost), 'x-cost-requested': String(requested) }
}

/** What every operation costs that has been admitted, so that a flood of those that do nothing ends too. */
const leastPoints = 1

/** What is reserved for an operation. */
export interface Requested {
  /** The points that it may cost. */
  readonly requested: number
  /** Those of them that are spent whatever it does: for the length of its body. */
  readonly least?: number
  /** Called once, at the end, with the points that were spent. */
  onEnd?(points: number): void
}

export interface ReservationOptions extends Requested {
  /** The budget with least left; undefined if none is limited. */
  readonly budget: Budget | undefined
  /** Returns points to the budgets, without waiting. In another minute than that of the reservation it does nothing. */
  giveBack?(points: number): void
  /**
   * Takes further points for work that is done.
   *
   * @param isAnyway whether they are taken even if there are too few
   * @returns the budget with least left
   * @throws GatewayError RATE_LIMITED
   */
  charge?(points: number, isAnyway: boolean): Promise<Budget | undefined>
}

/**
 * The points of an operation. As many as it may cost are taken before it runs, so that operations at the same time
 * never spend more than there is. When its response is known, those that it did not use are given back.
 *
 * An operation that did not run keeps the least cost: one that was refused, was abandoned in a queue, or has its
 * response from memory. One whose client has gone before the response is known keeps what was taken.
 */
export class Reservation {
  readonly requested: number
  readonly #options: ReservationOptions
  #budget: Budget | undefined
  #hasBegun = false
  #isOver = false
  /** What ran so far. */
  #used = 0
  /** The points of its response. */
  #sent = 0
  /** What is left of the points that were taken before it ran. */
  #held: number
  /** The points that were taken afterwards. */
  #charged = 0

  constructor(options: ReservationOptions) {
    this.requested = options.requested
    this.#options = options
    this.#budget = options.budget
    this.#held = options.requested
  }

  get hasBegun(): boolean {
    return this.#hasBegun
  }

  /** What the operation costs, as far as it is known. */
  get points(): number {
    return this.#held + this.#charged
  }

  get budget(): Budget | undefined {
    return this.#budget
  }

  get headers(): Readonly<Record<string, string>> {
    return { ...costHeaders(this.points, this.requested), ...(this.#budget && budgetHeaders(this.#budget)) }
  }

  /** The operation runs from now on. */
  begin(): void {
    this.#hasBegun = true
  }

  /** Adds what ran of the operation: a page, for instance. Nothing is given back before `settle`. */
  use(points: number): void {
    this.#used += points
  }

  /**
   * Gives back what was not used.
   *
   * @param sent the points of the response, which can be above what was taken: the rest is taken now
   * @param isAnyway whether the rest is taken even if there are too few points
   * @throws GatewayError RATE_LIMITED, if the rest is not taken
   */
  async settle(sent = 0, isAnyway = true): Promise<void> {
    this.#sent = sent
    const points = this.#due()
    this.#giveBackTo(points)
    const missing = points - this.points
    if (missing <= 0 || this.#isOver) return
    this.#budget = (await this.#options.charge?.(missing, isAnyway)) ?? this.#budget
    this.#charged += missing
  }

  /**
   * Gives back the points of the response, because the client has it already or did not ask for its body. Returns the
   * headers that say so.
   */
  dropResponse(): Readonly<Record<string, string>> {
    this.#sent = 0
    this.#giveBackTo(this.#due())
    return this.headers
  }

  /** Ends it. Further calls do nothing. */
  end(): void {
    if (this.#isOver) return
    if (!this.#hasBegun) this.#giveBackTo(this.#due())
    this.#isOver = true
    this.#options.onEnd?.(this.points)
  }

  #due(): number {
    // What ran is part of what was requested: a response that is longer than its nodes pay for is not.
    const used = this.#hasBegun ? Math.min(this.#used, this.requested) : 0
    return Math.max(leastPoints, this.#options.least ?? 0, used, this.#sent)
  }

  #giveBackTo(points: number): void {
    const back = Math.min(this.#held, this.points - points)
    if (back <= 0 || this.#isOver) return
    this.#held -= back
    this.#options.giveBack?.(back)
    const budget = this.#budget
    if (budget) this.#budget = { ...budget, remaining: Math.min(budget.points, budget.remaining + back) }
  }
}
