/** Reads a body. Returns undefined if it is longer than `maxBytes`, and does not read the rest. */
export async function readBytes(body: AsyncIterable<Uint8Array> | null, maxBytes: number): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength
    if (bytes > maxBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
