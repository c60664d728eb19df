import { clientHasGone } from '../errors.ts'

/**
 * Runs work that keeps this process or the database busy, in a fair order: the key that has waited longest is served first. Each key has
 * only a few pieces of work running, so that a key with much work does not delay the others.
 */
export interface FairQueue {
  /**
   * Runs work of a key, after that of keys that have waited longer.
   *
   * @param isAbandoned whether the client has gone; then the work is skipped
   * @returns the result of the work
   * @throws GatewayError if the client has gone before the work starts
   */
  run<Result>(keyId: string, work: () => Result | Promise<Result>, isAbandoned?: () => boolean): Promise<Result>
}

interface Queue {
  running: number
  readonly waiting: (() => void)[]
}

/**
 * Creates a fair queue.
 *
 * @param max how many pieces of work run at a time
 * @param maxPerKey how many of them may belong to one key
 * @param pauseAfter returns the pause before the next work, given the duration of the last one. Both in milliseconds
 */
function createFairQueue(max: number, maxPerKey: number, pauseAfter = (_milliseconds: number) => 0): FairQueue {
  /** The keys with work. The first one has waited longest. */
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
    async run(keyId, work, isAbandoned = () => false) {
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

/** The fair queues of a process: one for each kind of work with which a single key could keep it busy. */
export interface FairQueues {
  /** Work on the event loop that nothing interrupts: preparing a document, writing a long response. */
  readonly steps: FairQueue
  /** Operations that read very many rows. */
  readonly operations: FairQueue
  /** Reads of many JSON objects, which may have hundreds of KiB each. */
  readonly objects: FairQueue
  /** Mutations that keep a connection to the database from their first statement to their last. */
  readonly transactions: FairQueue
  /** Statements that read rows without returning them: searches and counts. */
  readonly searches: FairQueue
}

/**
 * After a long step the event loop is free for as long as the step took, within limits. Node accepts one connection per round of the
 * loop: with a long step in each round, a hundred connections of one client would delay all later connections by a hundred steps.
 */
function pauseAfterStep(milliseconds: number): number {
  return milliseconds < 2 ? 0 : Math.min(milliseconds, 100)
}

/**
 * Creates the fair queues of a process. Two searches of a key leave the other keys a core of a small database server, and four
 * transactions leave them most connections of a pool of the default size.
 */
export function createFairQueues(): FairQueues {
  return {
    steps: createFairQueue(1, 1, pauseAfterStep),
    operations: createFairQueue(4, 2),
    objects: createFairQueue(2, 1),
    transactions: createFairQueue(Number.POSITIVE_INFINITY, 4),
    searches: createFairQueue(4, 2),
  }
}
