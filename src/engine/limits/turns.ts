import { clientHasGone } from '../errors.ts'

/**
 * Runs work that keeps this process or the database busy. Keys take turns, and each has only some of the work running, so that
 * a key with much of it does not delay the others.
 */
export interface Turns {
  /**
   * Runs work when it is the key's turn.
   *
   * @param isAbandoned whether the client has gone; then the work is skipped
   * @returns the result of the work
   * @throws GatewayError if the client has gone before its turn
   */
  take<Result>(keyId: string, work: () => Result | Promise<Result>, isAbandoned?: () => boolean): Promise<Result>
}

interface Queue {
  running: number
  readonly waiting: (() => void)[]
}

/**
 * Creates turns.
 *
 * @param max how many pieces of work run at a time
 * @param maxPerKey how many of them one key may have
 * @param pauseAfter how long the next work waits after work that took so many milliseconds
 */
function createTurns(max: number, maxPerKey: number, pauseAfter = (_milliseconds: number) => 0): Turns {
  /** The keys with work. The first one has waited longest for its turn. */
  const queues = new Map<string, Queue>()
  let running = 0

  function moveToEnd(keyId: string, queue: Queue): void {
    queues.delete(keyId)
    queues.set(keyId, queue)
  }

  function startNext(): void {
    for (const [keyId, queue] of queues) {
      if (running >= max) return
      const start = queue.running < maxPerKey ? queue.waiting.shift() : undefined
      if (!start) continue
      queue.running += 1
      running += 1
      moveToEnd(keyId, queue)
      start()
    }
  }

  function end(keyId: string, queue: Queue): void {
    queue.running -= 1
    running -= 1
    if (queue.running === 0 && queue.waiting.length === 0) queues.delete(keyId)
    else moveToEnd(keyId, queue)
    startNext()
  }

  return {
    async take(keyId, work, isAbandoned = () => false) {
      const queue = queues.get(keyId) ?? { running: 0, waiting: [] }
      queues.set(keyId, queue)
      await new Promise<void>((resolve) => {
        queue.waiting.push(resolve)
        startNext()
      })
      const startedAt = performance.now()
      try {
        if (isAbandoned()) throw clientHasGone()
        return await work()
      } finally {
        // The next work starts after the requests that have arrived meanwhile.
        setImmediate(() => {
          const pause = pauseAfter(performance.now() - startedAt)
          if (pause > 0) setTimeout(() => end(keyId, queue), pause)
          else end(keyId, queue)
        })
      }
    },
  }
}

/** The turns of a process, for each kind of work that one key could keep it busy with. */
export interface ProcessTurns {
  /** Work on the event loop that nothing interrupts: preparing a document, writing a long answer. */
  readonly steps: Turns
  /** Operations that read very many rows. */
  readonly operations: Turns
  /** Reads of many JSON objects, which may have hundreds of KiB each. */
  readonly objects: Turns
  /** Mutations that keep a connection to the database from their first statement to their last. */
  readonly transactions: Turns
  /** Statements that look at rows which they do not return: searches and counts. */
  readonly searches: Turns
}

/**
 * After a long step the event loop is free for as long as the step took, within limits. Node accepts one connection per round of the
 * loop: with a long step in each round, a hundred connections of one client would delay all that follow by a hundred steps.
 */
function pauseAfterStep(milliseconds: number): number {
  return milliseconds < 2 ? 0 : Math.min(milliseconds, 100)
}

/**
 * Creates the turns of a process. Two of a key's searches leave a core of a small database server to the others, and four of its
 * transactions leave them most connections of a pool of the default size.
 */
export function createProcessTurns(): ProcessTurns {
  return {
    steps: createTurns(1, 1, pauseAfterStep),
    operations: createTurns(4, 2),
    objects: createTurns(2, 1),
    transactions: createTurns(Number.POSITIVE_INFINITY, 4),
    searches: createTurns(4, 2),
  }
}
