import { once } from 'node:events'
import type { Writable } from 'node:stream'

/**
 * Writes to a stream, and waits while its reader is slower.
 *
 * @throws the error of the stream, also that of an earlier write
 */
export async function writeTo(stream: Writable, text: string): Promise<void> {
  if (stream.errored) throw stream.errored
  if (!stream.write(text)) await once(stream, 'drain')
}
