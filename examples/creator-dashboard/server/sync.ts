import { createReadStream } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'

/** The profile of an account: the fields of `SyncProfileInput`. */
export interface ProfileInput {
  readonly accountId: string
  readonly [field: string]: unknown
}

export interface SyncOptions {
  /** Sends one request. Rejects if the gateway has not executed it, or its response did not arrive. */
  sync(inputs: readonly ProfileInput[]): Promise<readonly { readonly userErrors: readonly { message: string }[] }[]>
  /** Called for each profile that the gateway rejects, for example because the account was unlinked. */
  onRejected(profile: ProfileInput, message: string): void
}

/** The most inputs of a request. */
const batchSize = 100

/**
 * Synchronizes the profiles in a file with one JSON object per line. After each request it stores how many lines are done next to the file,
 * so that a run that stopped continues there. A request whose response was lost is sent again, which changes nothing: a profile that is
 * synchronized twice is the same, and causes no second event.
 *
 * @returns how many profiles were sent in this run
 */
export async function syncFile(file: string, { sync, onRejected }: SyncOptions): Promise<number> {
  const position = `${file}.position`
  const start = Number(await readFile(position, 'utf8').catch(() => 0))
  let done = start
  for await (const batch of batchesOf(file, start)) {
    const results = await sync(batch)
    for (const [index, { userErrors }] of results.entries()) {
      for (const { message } of userErrors) onRejected(batch[index] as ProfileInput, message)
    }
    done += batch.length
    await writeFile(position, String(done))
  }
  await rm(position, { force: true })
  return done - start
}

function parse(line: string, number: number): ProfileInput {
  try {
    return JSON.parse(line)
  } catch (cause) {
    throw new Error(`Line ${number} is not JSON`, { cause })
  }
}

async function* batchesOf(file: string, start: number): AsyncGenerator<ProfileInput[]> {
  let number = 0
  let batch: ProfileInput[] = []
  for await (const line of createInterface({ input: createReadStream(file) })) {
    number += 1
    if (number > start) batch.push(parse(line, number))
    if (batch.length < batchSize) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}
