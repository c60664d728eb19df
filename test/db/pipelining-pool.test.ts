import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createConnectionClass, PipeliningPool } from '@fusion-gateway/sql'
import type pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createDatabaseOfOwner, dropDatabase, hasServer, ownerUrl } from '../support/postgresql.ts'

describe.skipIf(!hasServer)('short reads in one turn of the event loop', () => {
  const name = `fusion_pipelining_${randomUUID().slice(0, 8)}`
  let pool: PipeliningPool
  beforeAll(() => createDatabaseOfOwner(name))
  afterAll(() => dropDatabase(name))
  beforeEach(() => {
    pool = new PipeliningPool(
      { connectionString: ownerUrl(name), query_timeout: 1_000 },
      ({ text }) => !text.startsWith('/* long */'),
    )
    pool.on('error', () => undefined)
    pool.on('connect', (client) => client.on('error', () => undefined))
  })
  afterEach(() => pool.end())

  const read = (text: string, ...values: unknown[]) => pool.query({ text, values, rowMode: 'array' })
  /** The first value of each result, or the message of its error. */
  const answers = async (reads: readonly Promise<{ rows: unknown[][] }>[]) =>
    (await Promise.allSettled(reads)).map((outcome) =>
      outcome.status === 'fulfilled' ? outcome.value.rows[0]?.[0] : (outcome.reason as Error).message,
    )
  const pids = async (text: string, count: number) =>
    new Set(await answers(Array.from({ length: count }, () => read(text)))).size

  it('share connections, at most four reads each; long reads have a connection each', async () => {
    expect(await pids('SELECT pg_backend_pid()', 12)).toBe(3)
    expect(await pids('/* long */ SELECT pg_backend_pid()', 6)).toBe(6)
    expect(pool.idleCount).toBe(6)
  })

  it('each get their own result', async () => {
    const values = Array.from({ length: 50 }, (_, index) => `value ${index}`)
    expect(await answers(values.map((value) => read('SELECT $1::text', value)))).toEqual(values)
  })

  it('fail separately, and the connection is not used again', async () => {
    const [before] = await answers([read('SELECT pg_backend_pid()')])
    const divide = (by: number) => read('SELECT 12 / $1::int', by)
    expect(await answers([divide(1), divide(0), divide(2)])).toEqual([12, 'division by zero', 6])
    expect(await answers([read('SELECT pg_backend_pid()')])).not.toEqual([before])
    expect(pool.totalCount).toBe(1)
  })

  it('are sent again if an earlier read broke their prepared statement or connection', async () => {
    // The first read fails to prepare the statement that all three use.
    const missing = () => pool.query({ name: 'missing', text: 'SELECT * FROM nowhere' })
    const outcomes = await Promise.allSettled([missing(), missing(), missing()])
    expect(outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason.code)).toEqual(
      Array(3).fill('42P01'),
    )
    // The second read ends the connection.
    const [first, killed, ...others] = await answers([
      read('SELECT 1'),
      read('SELECT pg_terminate_backend(pg_backend_pid())'),
      read('SELECT 2'),
      read('SELECT 3'),
      read('SELECT 4'),
    ])
    expect([first, ...others]).toEqual([1, 2, 3, 4])
    expect(killed).toMatch(/terminat/)
  })

  it('do not wait long for a read that waits for a lock', async () => {
    await pool.query('/* long */ CREATE TABLE locked ()')
    const blocker = await pool.connect()
    await blocker.query('BEGIN; LOCK TABLE locked')
    const wait = (name: string) => pool.query({ name, text: 'SELECT count(*) FROM locked', rowMode: 'array' } as never)
    const locked = [wait('a'), wait('b'), wait('c')]
    expect(await answers([read('SELECT 1')])).toEqual([1])
    await blocker.query('ROLLBACK')
    blocker.release()
    expect(await answers(locked)).toEqual(['0', '0', '0'])
  })

  it('share the sum of their timeouts, because a closed connection would not stop the server', async () => {
    const slow = () => read('SELECT pg_backend_pid() FROM pg_sleep(0.7)')
    const [one, other] = await answers([slow(), slow()])
    expect(other).not.toBe(one)
    while (pool.idleCount < 2) await once(pool, 'release')
    const pids = await answers([1, 2].map(() => read('/* long */ SELECT pg_backend_pid()')))
    expect(new Set(pids)).toEqual(new Set([one, other]))
  })

  it('that get no result time out, and the reads behind them get theirs', async () => {
    expect(await answers([read('SELECT 1'), read('SELECT pg_sleep(30)'), read('SELECT 2')])).toEqual([
      1,
      'Query read timeout',
      2,
    ])
    expect(await answers([read('SELECT 3')])).toEqual([3])
  })

  it('all fail if the server is unreachable', async () => {
    const nowhere = new PipeliningPool({ connectionString: 'postgresql://nobody@127.0.0.1:1/none' }, () => true)
    const reads = [1, 2].map((value) => nowhere.query({ text: 'SELECT $1', values: [value] }))
    for (const outcome of await Promise.allSettled(reads)) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'ECONNREFUSED' } })
    }
    await nowhere.end()
  })

  it('leave a server that has become a standby, also those under way', async () => {
    const settings = { connectionString: ownerUrl(name), idleTimeoutMillis: 0, Client: createConnectionClass(5_000) }
    const failed = new PipeliningPool(settings, () => true)
    failed.on('error', () => undefined)
    const clients = await Promise.all([failed.connect(), failed.connect(), failed.connect()])
    const [writer, reader, idle] = clients as [pg.PoolClient, pg.PoolClient, pg.PoolClient]
    idle.release()
    const read = reader.query('SELECT pg_sleep(0.3)')
    await writer.query('SET default_transaction_read_only = on')
    await expect(writer.query('CREATE TABLE written ()')).rejects.toMatchObject({ code: '25006' })
    expect(failed.totalCount).toBe(2)
    writer.release()
    await read
    reader.release()
    expect(failed.totalCount).toBe(0)
    await failed.end()
  })
})
