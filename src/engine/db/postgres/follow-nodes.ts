import type pg from 'pg'
import type { Server } from '../driver.ts'
import { serverOf } from './pool.ts'

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

/** The address of a node, as Citus knows it. */
export interface NodeAddress {
  readonly host: string
  readonly port: number
}

/** The pool of a node. */
interface NodePool {
  readonly pool: pg.Pool
  readonly server: Server
}

/** A part of each table: the tenants whose hashes are greater than those of the part before. */
interface Shard {
  readonly maxHash: number
  /** Undefined: the server that the URL names has it. */
  readonly node: NodePool | undefined
}

const readMilliseconds = 5_000

// All tables of tenants have their shards in the same places.
const listShards = `
  SELECT shardmaxvalue::integer AS max_hash, nodename AS host, nodeport AS port,
    groupid = (SELECT groupid FROM pg_dist_local_group) AS is_local
  FROM pg_dist_shard JOIN pg_dist_placement USING (shardid) JOIN pg_dist_node USING (groupid)
  WHERE logicalrelid = to_regclass('public.event') AND noderole = 'primary' ORDER BY 1`

/**
 * Follows where the rows of tenants are on a distributed database. Each node has a pool, so that one which is down
 * takes no connections to the others. A node takes statements of all tenants and forwards those of others: an outdated
 * placement makes them slower, and never wrong.
 *
 * @param primary the pool of the server that the URL names, which knows the placement
 * @param open opens the pool of another server. No connection is made before it is used
 */
export function followNodes(primary: pg.Pool, open: (node: NodeAddress) => pg.Pool) {
  const nodes = new Map<string, NodePool>()
  let shards: readonly Shard[] = []
  // Statements report that the server cannot be reached.
  const timer = setInterval(() => void read().catch(() => undefined), readMilliseconds).unref()

  function nodeAt(address: NodeAddress): NodePool {
    const name = `${address.host}:${address.port}`
    const known = nodes.get(name)
    if (known) return known
    const pool = open(address)
    const node = { pool, server: serverOf(pool) }
    nodes.set(name, node)
    return node
  }

  async function read(): Promise<void> {
    const { rows } = await primary.query(listShards)
    const found: Shard[] = []
    for (const { max_hash: maxHash, is_local: isLocal, host, port } of rows) {
      found.push({ maxHash, node: isLocal ? undefined : nodeAt({ host, port }) })
    }
    shards = found
  }

  return {
    /** Reads the placement. It is read again every five seconds. Returns the number of servers. */
    async read(): Promise<number> {
      await read()
      return nodes.size + 1
    },

    /** The node of a tenant; undefined: the server that the URL names, also while the placement is not known. */
    nodeOf(tenantAppId: string): Server | undefined {
      const hash = hashText(tenantAppId)
      return shards.find(({ maxHash }) => hash <= maxHash)?.node?.server
    },

    pools: (): pg.Pool[] => [...nodes.values()].map(({ pool }) => pool),

    async close(): Promise<void> {
      clearInterval(timer)
      await Promise.all([...nodes.values()].map(({ pool }) => pool.end()))
    },
  }
}
