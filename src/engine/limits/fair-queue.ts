import { clientHasGone } from '../errors.ts'

export type FairQueue = ReturnType<typeof createFairQueue>

interface Queue {
  running: number
  readonly waiting: (() => void)[]
}

/**
 * Creates a queue that runs work in a fair order: the key that has waited longest is served first, and a key has only some of the work
 * running, so that a key with much of it does not delay the others.
 *
 * @param max how many pieces of work run at a time
 * @param maxPerKey how many of them may belong to one key
 * @param pauseAfter returns the pause before the next work, given the duration of the last one. Both in milliseconds
 */
function createFairQueue(max: number, maxPerKey: number, pauseAfter = (_milliseconds: number) => 0) {
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
    /**
     * Runs work of a key, after that of keys that have waited longer.
     *
     * @param isAbandoned whether the client has gone; then the work is skipped
     * @throws GatewayError if the client has gone before the work starts
     */
    async run<Result>(keyId: string, work: () => Result | Promise<Result>, isAbandoned = () => false): Promise<Result> {
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

export type FairQueues = ReturnType<typeof createFairQueues>

/**
 * After a long step the event loop is free for as long as the step took, within limits. Node accepts one connection per round of the
 * loop: with a long step in each round, a hundred connections of one client would delay all later connections by a hundred steps.
 */
function pauseAfterStep(milliseconds: number): number {
  return milliseconds < 2 ? 0 : Math.min(milliseconds, 100)
}

/** Creates the fair queues of a process, one for each kind of work that a single key could keep it busy with. */
export function createFairQueues() {
  return {
    /** Work on the event loop that nothing interrupts: preparing a document, writing a long response. */
    steps: createFairQueue(1, 1, pauseAfterStep),
    /** Operations that read very many rows. */
    operations: createFairQueue(4, 2),
    /** Reads of many JSON objects, which may have hundreds of KiB each. */
    objects: createFairQueue(2, 1),
    /**
     * Mutations that keep a connection to the database from their first statement to their last. Four of a key leave the others most
     * connections of a pool of the default size.
     */
    transactions: createFairQueue(Number.POSITIVE_INFINITY, 4),
    /** Statements that look at rows which they do not return: searches and counts. Two of a key leave the others a core of a small server. */
    searches: createFairQueue(4, 2),
  }
}
