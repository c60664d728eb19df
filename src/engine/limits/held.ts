/**
 * What a request, or an operation of a WebSocket, holds: its place among those in flight, and what its client has not
 * received yet. Whatever ends the request gives everything back, once.
 */
export class Held {
  #place: (() => void) | undefined
  #others: (() => void)[] = []
  #isOver = false

  /** Whether everything was given back. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** Holds a place instead of the one before. */
  takePlace(release: () => void): void {
    this.leavePlace()
    if (this.#isOver) release()
    else this.#place = release
  }

  /** Gives the place back early: the request only waits for events from now on, or for a slow reader of a page. */
  leavePlace(): void {
    this.#place?.()
    this.#place = undefined
  }

  /** Calls `release` when the request is over: its client has received the response, or has gone. */
  untilOver(release: () => void): void {
    if (this.#isOver) release()
    else this.#others.push(release)
  }

  /** Gives everything back. Further calls do nothing. */
  end(): void {
    this.#isOver = true
    this.leavePlace()
    for (const release of this.#others.splice(0)) release()
  }
}
