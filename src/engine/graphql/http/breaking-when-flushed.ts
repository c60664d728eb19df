/**
 * The same items. They fail only when the client has received those before: what is not yet sent is lost with the connection.
 *
 * @param flushed resolves when the client has received what was sent so far, or has gone
 */
export async function* breakingWhenFlushed<Item>(
  items: AsyncIterable<Item>,
  flushed: () => Promise<void>,
): AsyncGenerator<Item, undefined> {
  try {
    yield* items
  } catch (error) {
    await flushed()
    throw error
  }
  return undefined
}
