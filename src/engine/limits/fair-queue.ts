import { clientHasGone } from '../errors.ts'
import { type Account, accountsOf, type Payer } from './payer.ts'

export type FairQueue = ReturnType<typeof createFairQueue>

/** The work of an account: of a tenant, of a key or of all users below it, of a user below them. */
interface Branch {
  readonly name: string
  /** How many pieces of its work may run at a time. */
  readonly max: number
  readonly parent: Branch | undefined
  running: number
  readonly waiting: (() => void)[]
  /** The accounts below that have work. The first one has waited longest. */
  readonly branches: Map<string, Branch>
}

function createBranch(name: string, max: number, parent: Branch | undefined): Branch {
  const branch: Branch = { name, max, parent, running: 0, waiting: [], branches: new Map() }
  parent?.branches.set(name, branch)
  return branch
}

/**
 * Creates a queue that runs work in a fair order: the tenant that has waited longest is served first. Within it, the same holds for its keys
 * and all its users together, and for the users. A tenant has only some of the work running, and all its users together one piece less, if
 * that is any. So neither a tenant nor a user with much work delays the others, and the tenant's own server does not wait for its users.
 *
 * @param max how many pieces of work run at a time
 * @param maxPerTenant how many of them may belong to one tenant
 * @param pauseAfter returns the pause before the next work, given the duration of the last one. Both in milliseconds
 */
function createFairQueue(max: number, maxPerTenant: number, pauseAfter = (_milliseconds: number) => 0) {
  const root = createBranch('', max, undefined)
  const maxOf = ({ kind }: Account) => (kind === 'users' ? Math.max(1, maxPerTenant - 1) : maxPerTenant)

  /** Removes the work that has waited longest from a branch. */
  function takeNext(branch: Branch): (() => void) | undefined {
    if (branch.running >= branch.max) return undefined
    for (const below of branch.branches.values()) {
      const start = takeNext(below)
      if (start) return start
    }
    return branch.waiting.shift()
  }

  function startNext(): void {
    for (let start = takeNext(root); start; start = takeNext(root)) start()
  }

  /** Counts work that starts (1) or ends (-1) in a branch and all above. They move to the end of the order, if they have work left. */
  function count(branch: Branch, change: 1 | -1): void {
    branch.running += change
    const { name, parent, running, waiting, branches } = branch
    if (!parent) return
    parent.branches.delete(name)
    if (running > 0 || waiting.length > 0 || branches.size > 0) parent.branches.set(name, branch)
    count(parent, change)
  }

  function branchOf(payer: Payer): Branch {
    let branch = root
    for (const account of accountsOf(payer)) {
      branch = branch.branches.get(account.name) ?? createBranch(account.name, maxOf(account), branch)
    }
    return branch
  }

  return {
    /**
     * Runs work of a payer, after that of those who have waited longer.
     *
     * @param isAbandoned whether the client has gone; then the work is skipped
     * @throws GatewayError if the client has gone before the work starts
     */
    async run<Result>(payer: Payer, work: () => Result | Promise<Result>, isAbandoned = () => false): Promise<Result> {
      const branch = branchOf(payer)
      await new Promise<void>((resolve) => {
        branch.waiting.push(() => {
          count(branch, 1)
          resolve()
        })
        startNext()
      })
      const startedAt = performance.now()
      const end = () => {
        count(branch, -1)
        startNext()
      }
      try {
        if (isAbandoned()) throw clientHasGone()
        return await work()
      } finally {
        // The next work starts after the requests that have arrived meanwhile.
        setImmediate(() => {
          const pause = pauseAfter(performance.now() - startedAt)
          if (pause > 0) setTimeout(end, pause)
          else end()
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

/** Creates the fair queues of a process, one for each kind of work that a single tenant could keep it busy with. */
export function createFairQueues() {
  return {
    /** Work on the event loop that nothing interrupts: preparing a document, writing a long response. */
    steps: createFairQueue(1, 1, pauseAfterStep),
    /** Operations that take long on the event loop. */
    operations: createFairQueue(4, 2),
    /** Reads of many JSON objects, which may have hundreds of KiB each. */
    objects: createFairQueue(2, 1),
    /**
     * Mutations that keep a connection to the database from their first statement to their last. Four of a tenant leave the others most
     * connections of a pool of the default size.
     */
    transactions: createFairQueue(Number.POSITIVE_INFINITY, 4),
    /** Statements that look at rows which they do not return: searches and counts. Two of a tenant leave the others a core of a small server. */
    searches: createFairQueue(4, 2),
  }
}
