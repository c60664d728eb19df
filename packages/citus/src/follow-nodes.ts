import { literals, ownTables } from '@fusion-gateway/database'
import {
  ConnectError,
  type DatabaseNode,
  type FollowedNodes,
  isDivisionByZero,
  isServerLost,
  isUnknownObject,
  type NodeAddress,
  type NodeObserver,
  type OpenPool,
  type OpenTransaction,
  type Send,
  type Statement,
  type StatementResult,
  serverOf,
  statement,
} from '@fusion-gateway/sql'
import { LRUCache } from 'lru-cache'
import type pg from 'pg'

/**
 * The hash by which Citus finds the shard of a text: that of PostgreSQL (`hashtext`), Bob Jenkins' lookup3.
 *
 * @returns a signed number of 32 bits
 * @see https://github.com/postgres/postgres/blob/REL_15_STABLE/src/common/hashfn.c
 */
export function hashText(text: string): number {
  const bytes = Buffer.from(text)
  let a = (0x9e3779b9 + bytes.length + 3_923_095) | 0
  let b = a
  let c = a
  let at = 0
  for (; bytes.length - at >= 12; at += 12) {
    a = (a + bytes.readInt32LE(at)) | 0
    b = (b + bytes.readInt32LE(at + 4)) | 0
    c = (c + bytes.readInt32LE(at + 8)) | 0
    a = (a - c) ^ rotate(c, 4)
    c = (c + b) | 0
    b = (b - a) ^ rotate(a, 6)
    a = (a + c) | 0
    c = (c - b) ^ rotate(b, 8)
    b = (b + a) | 0
    a = (a - c) ^ rotate(c, 16)
    c = (c + b) | 0
    b = (b - a) ^ rotate(a, 19)
    a = (a + c) | 0
    c = (c - b) ^ rotate(b, 4)
    b = (b + a) | 0
  }
  // The lowest byte of the last word stands for the length.
  const rest = Buffer.alloc(13)
  rest.set(bytes.subarray(at, at + 8))
  rest.set(bytes.subarray(at + 8), 9)
  a = (a + rest.readInt32LE(0)) | 0
  b = (b + rest.readInt32LE(4)) | 0
  c = (c + rest.readInt32LE(8)) | 0
  c = (c ^ b) - rotate(b, 14)
  a = (a ^ c) - rotate(c, 11)
  b = (b ^ a) - rotate(a, 25)
  c = (c ^ b) - rotate(b, 16)
  a = (a ^ c) - rotate(c, 4)
  b = (b ^ a) - rotate(a, 14)
  return ((c ^ b) - rotate(b, 24)) | 0
}

const rotate = (word: number, bits: number) => (word << bits) | (word >>> (32 - bits))

/** A part of each table: the tenants whose hashes are greater than those of the part before. */
interface Shard {
  readonly maxHash: number
  /** The node that has it. Trees are read from the tables of the shard. */
  readonly node: DatabaseNode
}

/** The tables that hold a part of our tables on a node, by the names of ours. */
type LocalTables = ReadonlyMap<string, string>

type FollowedNode = ReturnType<typeof createNode>

/** Why nothing is sent to a node. */
interface NodeProblem {
  readonly error: unknown
  /** Whether it answers, and numbers events as another server. */
  readonly isForeign: boolean
}

const readMilliseconds = 5_000

/** How often a node is checked: while it answers, and while it does not. */
const checkMilliseconds = { usable: 1_000, failed: 500 }

/** How long a check may take: then a node that hangs counts as failed. */
const checkTimeout = { connectMilliseconds: 3_000, acquireMilliseconds: 3_000, statementMilliseconds: 2_000 }

/** How long the others wait for the list of a node. */
const listMilliseconds = 2_000

// All tables of tenants have their shards in the same places. A table that each server has is one shard without a
// range, and a coordinator without rows of tenants has no others.
const listShards = `
  SELECT c.relname AS table, shardmaxvalue::integer AS max_hash, shard_name(logicalrelid, shardid) AS local,
    nodename AS host, nodeport AS port, shardid AS id, groupid AS group, groupid = (SELECT groupid FROM pg_dist_local_group) AS is_local
  FROM pg_dist_shard JOIN pg_dist_placement USING (shardid) JOIN pg_dist_node USING (groupid) JOIN pg_class c ON c.oid = logicalrelid
  WHERE c.relnamespace = 'public'::regnamespace AND c.relname IN (${literals(ownTables.keys())}) AND noderole = 'primary' ORDER BY 2`

// A node numbers the events of its tenants. If it was restored from a backup of another server, readers would miss
// some.
const checkNumbers = statement('SELECT server = system_identifier FROM event_state, pg_control_system()')

/** `FROM job AS j` ⇒ `FROM job_102008 AS j`, and `JOIN "user"` ⇒ `JOIN user_102012 AS "user"` */
function withTables(text: string, local: LocalTables): string {
  const tables = new RegExp(`\\b(FROM|JOIN) ("?)(${[...local.keys()].join('|')})\\2(?!\\w)(?: AS ("?\\w+"?))?`, 'g')
  return text.replace(
    tables,
    (_, word: string, quote: string, name: string, alias = quote + name + quote) =>
      `${word} ${local.get(name)} AS ${alias}`,
  )
}

/**
 * Makes a statement about the rows of all tenants one about the rows that a server has in tables of its own.
 *
 * `SELECT … FROM job AS j` ⇒ `(SELECT … FROM job_102008 AS j) UNION ALL (SELECT … FROM job_102010 AS j)`
 */
function localize({ text, isShortRead = false }: Statement, parts: readonly LocalTables[]): Statement {
  return statement(parts.map((part) => `(${withTables(text, part)})`).join(' UNION ALL '), { isShortRead })
}

/** How many trees are read from the tables of a shard. Each connection to the node keeps their plans for a while. */
const maxTrees = 8

/**
 * Creates a function that returns the statement which reads a tree from the tables of a shard; undefined for another
 * statement. A shard has the statements of the trees that were read last.
 *
 * @param isPlaced a condition: fails if the node does not have the shard any more
 */
export function createTrees(local: LocalTables, isPlaced: string): (sent: Statement) => Statement | undefined {
  // By the text, because equal trees can be different objects: prepared documents come and go.
  const trees = new LRUCache<string, Statement>({ max: maxTrees })
  return (sent) => {
    if (!sent.isTree) return undefined
    const known = trees.get(sent.text)
    if (known) return known
    const text = `SELECT * FROM (${withTables(sent.text, local)}) AS tree WHERE ${isPlaced}`
    const tree = statement(text, { isShortRead: sent.isShortRead === true })
    trees.set(sent.text, tree)
    return tree
  }
}

/**
 * The node of a shard, of whose tables it reads trees: Citus, which plans these at each execution, does not see them.
 * A condition in the snapshot of the statement makes it fail if the node does not have the shard any more. It is then
 * sent as it was, so that Citus finds the rows.
 */
function nodeOfShard(
  node: FollowedNode,
  local: LocalTables,
  { id, group }: ShardRow,
  onMoved: () => void,
): DatabaseNode {
  const isPlaced = `(SELECT 1 / count(*) FROM pg_dist_placement WHERE shardid = ${id} AND groupid = ${group}) = 1`
  const treeOf = createTrees(local, isPlaced)

  return {
    ...node,
    async send(sent, parameters) {
      const tree = treeOf(sent)
      if (!tree) return node.send(sent, parameters)
      try {
        return await node.send(tree, parameters)
      } catch (error) {
        if (!isDivisionByZero(error) && !isUnknownObject(error)) throw error
        onMoved()
        return node.send(sent, parameters)
      }
    },
  }
}

interface NodeEvents {
  readonly onChange: NodeObserver
  /** Called when a table is not where it was. */
  readonly onOutdated: () => void
}

/**
 * Creates a node. From its first check on it is checked all the time whether it answers. While it does not, nothing is
 * sent to it, and what was sent fails: a server that hangs must not keep what is shared with the tenants of other
 * nodes.
 *
 * @param checking a pool of one connection
 */
function createNode(name: string, pool: pg.Pool, checking: pg.Pool, { onChange, onOutdated }: NodeEvents) {
  const server = serverOf(pool)
  const underWay = new Set<(error: unknown) => void>()
  let problem: NodeProblem | undefined
  let local: readonly LocalTables[] = []
  let localized = new WeakMap<Statement, Statement>()
  let lateLists = 0
  let isClosed = false
  let timer: NodeJS.Timeout | undefined
  let checked: Promise<void> | undefined

  /** Sends something, unless or until the node fails. */
  function whileUsable<Result>(send: () => Promise<Result>, dispose?: (result: Result) => void): Promise<Result> {
    if (problem) return Promise.reject(problem.error)
    return new Promise((resolve, reject) => {
      underWay.add(reject)
      send().then(
        (result) => {
          if (underWay.delete(reject)) resolve(result)
          else dispose?.(result)
        },
        (error: unknown) => {
          underWay.delete(reject)
          if (!isServerLost(error)) return reject(error)
          // Who sends it again then knows whether another server has to take it.
          void check().then(() => reject(error))
        },
      )
    })
  }

  function note(found: NodeProblem | undefined): void {
    const before = problem
    problem = found
    if (before?.isForeign !== found?.isForeign) onChange(name, found?.error)
    if (!found) return
    for (const reject of underWay) reject(found.error)
    underWay.clear()
  }

  async function findProblem(): Promise<NodeProblem | undefined> {
    try {
      const { rows } = await serverOf(checking).send(checkNumbers, [])
      if (rows[0]?.[0] === true) return undefined
      return { isForeign: true, error: new ConnectError(`the node ${name} was restored into another server`) }
    } catch (error) {
      return { isForeign: false, error }
    }
  }

  function check(): Promise<void> {
    checked ??= findProblem().then((found) => {
      checked = undefined
      if (isClosed) return
      note(found)
      clearTimeout(timer)
      timer = setTimeout(() => void check(), checkMilliseconds[problem ? 'failed' : 'usable']).unref()
    })
    return checked
  }

  const node: DatabaseNode = {
    name,
    problem: () => problem?.error,
    isForeign: () => problem?.isForeign === true,
    hasRows: () => local.length > 0,
    send: (sent, parameters) => whileUsable(() => server.send(sent, parameters)),
    async begin() {
      const release = (open: OpenTransaction) => void open.end('ROLLBACK').catch(() => undefined)
      const open = await whileUsable(() => server.begin(), release)
      return {
        send: (sent, parameters) => whileUsable(() => open.send(sent, parameters)),
        end(how) {
          // It gives the connection back also if nobody waits for it.
          const ended = open.end(how)
          ended.catch(() => undefined)
          return whileUsable(() => ended)
        },
      }
    },
    async list(sent, parameters) {
      if (lateLists > 0) throw new Error(`the node ${name} is busy with an earlier list`)
      const text = localized.get(sent) ?? localize(sent, local)
      localized.set(sent, text)
      let isLate = false
      const listed = node.send(text, parameters).finally(() => {
        if (isLate) lateLists -= 1
      })
      return new Promise((resolve, reject) => {
        const giveUp = setTimeout(() => {
          isLate = true
          lateLists += 1
          reject(new Error(`the node ${name} takes longer than ${listMilliseconds} ms`))
        }, listMilliseconds)
        const fail = (error: unknown) => {
          if (isUnknownObject(error)) onOutdated()
          reject(error)
        }
        void listed.then(({ rows }) => resolve(rows), fail).finally(() => clearTimeout(giveUp))
      })
    },
  }

  return {
    ...node,
    pool,
    check,
    /** @param parts the tables that it has now */
    place(parts: readonly LocalTables[]): void {
      local = parts
      localized = new WeakMap()
    },
    async close(isPoolOwn: boolean): Promise<void> {
      isClosed = true
      clearTimeout(timer)
      await Promise.all([checking.end(), ...(isPoolOwn ? [pool.end()] : [])])
    },
  }
}

/**
 * Follows where the rows of tenants are on a distributed database. Each node has a pool, so that one which is down or
 * hangs takes no connections to the others. A node takes statements of all tenants and forwards those of others: an
 * outdated placement makes them slower, and never wrong. A list of what all tenants have reads the tables that each
 * node has: with an outdated placement it lacks something, or has too much, until the next list.
 *
 * @param primary the pool of the server that the URL names, which knows the placement
 */
export function followNodes(primary: pg.Pool, open: OpenPool): FollowedNodes {
  let observer: NodeObserver = () => undefined
  const nodes = new Map<string, FollowedNode & { readonly isLocal: boolean }>()
  let shards: readonly Shard[] = []
  let ofShards = new Map<string, DatabaseNode>()
  let timer: NodeJS.Timeout | undefined
  const events: NodeEvents = {
    onChange: (...change) => observer(...change),
    onOutdated: () => void read().catch(() => undefined),
  }

  function nodeAt(address: NodeAddress, isLocal: boolean) {
    const name = `${address.host}:${address.port}`
    const known = nodes.get(name)
    if (known) return known
    const checking = open(isLocal ? undefined : address, { ...checkTimeout, size: 1 })
    const node = { ...createNode(name, isLocal ? primary : open(address), checking, events), isLocal }
    nodes.set(name, node)
    void node.check()
    return node
  }

  async function read(): Promise<void> {
    const { rows } = await primary.query<ShardRow>(listShards)
    const found: Shard[] = []
    const nodesOfShards: typeof ofShards = new Map()
    const byNode = Map.groupBy(rows, ({ host, port, is_local: isLocal }) => nodeAt({ host, port }, isLocal))
    for (const [node, placed] of byNode) {
      const tables = Map.groupBy(placed, ({ max_hash: maxHash }) => maxHash)
      const ofAll = tables.get(null) ?? []
      tables.delete(null)
      const parts = [...tables].map(([maxHash, own]) => {
        const local = new Map([...ofAll, ...own].map(({ table, local }) => [table, local]))
        const [first] = own
        if (maxHash === null || !first) return local
        // The names of the tables have the number of the shard. A migration can add some.
        const key = [node.name, first.group, ...local.values()].join(' ')
        const ofShard = ofShards.get(key) ?? nodeOfShard(node, local, first, events.onOutdated)
        nodesOfShards.set(key, ofShard)
        found.push({ maxHash, node: ofShard })
        return local
      })
      node.place(parts)
    }
    ofShards = nodesOfShards
    shards = found.toSorted((one, other) => one.maxHash - other.maxHash)
    for (const [name, node] of nodes) {
      if (byNode.has(node)) continue
      nodes.delete(name)
      void node.close(!node.isLocal)
    }
  }

  /**
   * The server for what concerns no tenant: that of the URL, and while it fails any other that answers, because each
   * has the tables of tenants and keys. Undefined while the nodes are not followed.
   */
  function forAll() {
    // As on every server that is not distributed.
    if (nodes.size === 0) return undefined
    const all = [...nodes.values()]
    const own = all.find(({ isLocal }) => isLocal)
    return own?.problem() ? (all.find((node) => !node.problem()) ?? own) : own
  }

  return {
    /**
     * Begins to follow them. The placement is read again every five seconds. Resolves when each node has been checked.
     */
    async follow(onNode: NodeObserver = () => undefined): Promise<void> {
      observer = onNode
      await read()
      // Statements report that the server cannot be reached.
      timer ??= setInterval(() => void read().catch(() => undefined), readMilliseconds).unref()
      await Promise.all([...nodes.values()].map(({ check }) => check()))
    },

    nodes: (): readonly DatabaseNode[] => [...nodes.values()],

    /** The node of a tenant; undefined while the placement is not known. */
    nodeOf(tenantAppId: string): DatabaseNode | undefined {
      if (shards.length === 0) return undefined
      const hash = hashText(tenantAppId)
      return shards.find(({ maxHash }) => hash <= maxHash)?.node
    },

    forAll,

    /** Sends a read to the server for what concerns no tenant, and if that one is lost to the next one. */
    readForAll(...sent: Parameters<Send>): Promise<StatementResult> | undefined {
      const server = forAll()
      return server?.send(...sent).catch((error: unknown) => {
        const next = forAll()
        if (!next || next === server || !isServerLost(error)) throw error
        return next.send(...sent)
      })
    },

    /** The server that takes the place of that of the URL, while that one fails. */
    standIn(): DatabaseNode | undefined {
      const server = forAll()
      return server?.isLocal ? undefined : server
    },

    /** The pools of other servers. */
    pools: (): pg.Pool[] => [...nodes.values()].flatMap(({ pool, isLocal }) => (isLocal ? [] : [pool])),

    async close(): Promise<void> {
      clearInterval(timer)
      await Promise.all([...nodes.values()].map((node) => node.close(!node.isLocal)))
    },
  }
}

/** A table that holds a part of one of ours on a node. */
interface ShardRow {
  readonly table: string
  /** Null: the node has all of it. */
  readonly max_hash: number | null
  readonly local: string
  readonly id: string
  readonly group: number
  readonly host: string
  readonly port: number
  readonly is_local: boolean
}
