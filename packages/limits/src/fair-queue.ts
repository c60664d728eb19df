import { clientHasGone } from '@fusion-gateway/base'
import { type RunWrite, waitFor } from '@fusion-gateway/sql'
import { type Payer, type Subject, subjectsOf } from './concurrency.ts'

export type FairQueue = ReturnType<typeof createFairQueue>

/** The work of a subject: of a tenant, of a key or of all users below it, of a user below them. */
interface Line {
  readonly name: string
  /** How many pieces of its work may run at a time. */
  readonly max: number
  readonly parent: Line | undefined
  running: number
  readonly waiting: (() => void)[]
  /** The subjects below that have work. The first one has waited longest. */
  readonly lines: Map<string, Line>
}

function createLine(name: string, max: number, parent: Line | undefined): Line {
  const line: Line = { name, max, parent, running: 0, waiting: [], lines: new Map() }
  parent?.lines.set(name, line)
  return line
}

/** Calls `next` when the next work may start, after work that took some milliseconds. */
type Rest = (milliseconds: number, next: () => void) => void

/**
 * Creates a queue that runs work in a fair order: the tenant that has waited longest is served first. Within it, the
 * same holds for its keys and all its users together, and for the users. A tenant has only some of the work running,
 * and all its users together one piece less, if that is any. So neither a tenant nor a user with much work delays the
 * others, and the tenant's own server does not wait for its users.
 *
 * @param max how many pieces of work run at a time
 * @param maxPerTenant how many of them may belong to one tenant
 * @param rest what happens between pieces of work
 */
function createFairQueue(max: number, maxPerTenant: number, rest: Rest = (_milliseconds, next) => next()) {
  const root = createLine('', max, undefined)
  const maxOf = ({ kind }: Subject) => (kind === 'users' ? Math.max(1, maxPerTenant - 1) : maxPerTenant)

  /** Removes the work that has waited longest from a line. */
  function takeNext(line: Line): (() => void) | undefined {
    if (line.running >= line.max) return undefined
    for (const below of line.lines.values()) {
      const start = takeNext(below)
      if (start) return start
    }
    return line.waiting.shift()
  }

  function startNext(): void {
    for (let start = takeNext(root); start; start = takeNext(root)) start()
  }

  /**
   * Counts work that starts (1) or ends (-1) in a line and all above. They move to the end of the order, if they have
   * work left.
   */
  function count(line: Line, change: 1 | -1): void {
    line.running += change
    const { name, parent, running, waiting, lines } = line
    if (!parent) return
    parent.lines.delete(name)
    if (running > 0 || waiting.length > 0 || lines.size > 0) parent.lines.set(name, line)
    count(parent, change)
  }

  function lineOf(payer: Payer): Line {
    let line = root
    for (const subject of subjectsOf(payer)) {
      line = line.lines.get(subject.name) ?? createLine(subject.name, maxOf(subject), line)
    }
    return line
  }

  return {
    /**
     * Runs work of a payer, after that of those who have waited longer.
     *
     * @param isAbandoned whether the client has gone; then the work is skipped
     * @throws GatewayError if the client has gone before the work starts
     */
    async run<Result>(payer: Payer, work: () => Result | Promise<Result>, isAbandoned = () => false): Promise<Result> {
      const line = lineOf(payer)
      await new Promise<void>((resolve) => {
        line.waiting.push(() => {
          count(line, 1)
          resolve()
        })
        startNext()
      })
      const startedAt = performance.now()
      const end = () => {
        count(line, -1)
        startNext()
      }
      try {
        if (isAbandoned()) throw clientHasGone()
        return await work()
      } finally {
        // The next work starts after the requests that have arrived meanwhile.
        setImmediate(() => rest(performance.now() - startedAt, end))
      }
    },
  }
}

export type FairQueues = ReturnType<typeof createFairQueues>

/**
 * After a long step the event loop is free for as long as the step took, within limits. Node accepts one connection per
 * round of the loop: with a long step in each round, a hundred connections of one client would delay all later
 * connections by a hundred steps.
 */
const restAfterStep: Rest = (milliseconds, next) => {
  if (milliseconds < 2) next()
  else setTimeout(next, Math.min(milliseconds, 100))
}

/**
 * After a long operation the event loop makes up to 64 rounds, for the same reason. Two operations of a tenant run at a
 * time: a pause of one would be over when the other has kept the loop busy. A round of an idle loop takes microseconds.
 */
const restAfterOperation: Rest = (milliseconds, next) => {
  let rounds = Math.min(milliseconds, 64)
  const goRound = () => {
    rounds -= 1
    if (rounds > 0) setImmediate(goRound)
    else next()
  }
  goRound()
}

/** The share of the connections that may wait for locks: of all tenants, and of one. Reads have the rest. */
const shareOfWrites = { process: 0.6, tenant: 0.4 }

/**
 * Creates the fair queues of a process, one for each kind of work that a single tenant could keep it busy with.
 *
 * @param connections to the database, at most
 */
export function createFairQueues(connections = 10) {
  const connectionsFor = (share: number) => Math.max(1, Math.floor(connections * share))
  const createWrites = () =>
    createFairQueue(connectionsFor(shareOfWrites.process), connectionsFor(shareOfWrites.tenant))
  return {
    /** Work that nothing interrupts: reading a long body, preparing a document, writing a long response. */
    parsing: createFairQueue(1, 1, restAfterStep),
    /**
     * Checks of the log of events, on connections of their own. Those of a tenant run one after the other. An operator
     * can lock the log, so a probe must have a connection left (sql/postgres/postgres.ts).
     */
    checks: createFairQueue(2, 1),
    /** Operations that take long on the event loop. */
    operations: createFairQueue(4, 2, restAfterOperation),
    /** Reads of many JSON objects, which may have hundreds of KiB each. */
    objects: createFairQueue(2, 1),
    /** Writes and transactions, which can wait for locks. Reads get the other connections of a default pool. */
    writes: createWrites(),
    /** Searches and counts, which read many rows. Two of a tenant leave the others a core of a small server. */
    searches: createFairQueue(4, 2),
    /** Another queue of writes, for the connections to another server. */
    createWrites,
  }
}

/** Stands for what the gateway writes by itself. */
const gateway: Payer = { tenantAppId: '', keyId: '' }

/**
 * Returns the function that runs a write in the fair queue of its server: in the line of its request, or in that of the
 * gateway. Writes that wait for a node which hangs have only the places of this node.
 *
 * @param maxMilliseconds how long a write waits in the queue. Then it fails, as without a connection
 */
export function createWriteQueue(
  { writes, createWrites }: Pick<FairQueues, 'writes' | 'createWrites'>,
  maxMilliseconds = 5_000,
): RunWrite {
  const ofNodes = new Map<string, FairQueue>()
  function queueOf(node: string | undefined): FairQueue {
    if (node === undefined) return writes
    const queue = ofNodes.get(node) ?? createWrites()
    ofNodes.set(node, queue)
    return queue
  }
  return (request, work, node) =>
    waitFor(
      request,
      () =>
        new Promise((resolve, reject) => {
          let isLate = false
          const timer = setTimeout(() => {
            isLate = true
            reject(new Error('timeout exceeded in the queue of writes'))
          }, maxMilliseconds)
          const begin = () => {
            clearTimeout(timer)
            return work()
          }
          queueOf(node)
            .run((request.payer as Payer | undefined) ?? gateway, begin, () => isLate)
            .then(resolve, reject)
        }),
    )
}
