import { isDeepStrictEqual } from 'node:util'
import type { Kind, Ledger } from '../ledger.ts'
import type { Call, Client, Sent } from './client.ts'

/** What a client needs to write. */
export interface WriterOptions {
  readonly client: Client
  readonly ledger: Ledger
  readonly note: (problem: string) => void
}

/** A part of a response: the row that was written. */
export type Row = Readonly<Record<string, unknown>>

/**
 * Sends a write. Without an idempotency key it is sent once. Otherwise one in twenty is sent by a client that soon
 * disconnects, and one in ten is sent to two gateways at the same time: both must answer the same.
 *
 * @param rowOf reads the row from the JSON of a response. `rejected` is for writes that may be rejected
 * @returns the row if the write is acknowledged; `refused` if it was sent once and the response was to send it again
 */
export async function write<Result extends Row | 'rejected'>(
  { client, ledger, note }: WriterOptions,
  kind: Kind,
  call: Call,
  rowOf: (body: never) => Result | null | undefined,
): Promise<Result | 'refused' | undefined> {
  const counts = ledger.counts[kind]
  counts.sent += 1
  const isSafeToRepeat = call.idempotencyKey !== undefined
  const dice = client.random.below(20)
  const isOnce = !isSafeToRepeat || dice === 0
  const sent = await send()
  const rows = sent.map(({ response, requests }) => {
    counts.requests += requests
    if (!response) return undefined
    const row = response.status < 300 ? rowOf(JSON.parse(response.text) as never) : undefined
    const described = `${call.path} ${JSON.stringify(call.body)}: ${response.status} ${response.text.slice(0, 1_000)}`
    if (!row) note(`a valid write was rejected: ${described}`)
    return row ?? undefined
  })
  const [row] = rows
  if (!isOnce && !row) note(`${call.path} was not acknowledged after the faults: ${JSON.stringify(call.body)}`)
  if (rows.length > 1 && !isDeepStrictEqual(row, rows[1])) {
    note(`one idempotency key got two responses: ${JSON.stringify(rows)}`)
  }
  if (row === 'rejected') counts.rejected += 1
  else if (row) counts.acknowledged += 1
  return isOnce && sent[0]?.isRefused ? 'refused' : row

  async function send(): Promise<Sent[]> {
    if (!isSafeToRepeat) return [await client.sendOnce(call)]
    if (dice === 0) return [await client.sendImpatiently(call)]
    if (dice < 3) return Promise.all([client.send(call, 0), client.send(call, 1)])
    return [await client.send(call)]
  }
}

/** Whether a write was acknowledged with its row. */
export function isRow(result: Row | string | undefined): result is Row {
  return typeof result === 'object'
}
