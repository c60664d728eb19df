/**
 * The same items. They fail only when the client has received those before: what is not yet sent is lost with the
 * connection.
 *
 * No generator, because that would return only after the item that it waits for.
 *
 * @param flushed resolves when the client has received what was sent so far, or has gone
 */
export function breakingWhenFlushed<Item>(
  items: AsyncIterable<Item>,
  flushed: () => Promise<void>,
): AsyncIterableIterator<Item, undefined, undefined> {
  const iterator = items[Symbol.asyncIterator]()
  return {
    [Symbol.asyncIterator]() {
      return this
    },
    async next() {
      try {
        return await iterator.next()
      } catch (error) {
        await flushed()
        throw error
      }
    },
    async return() {
      await iterator.return?.()
      return { done: true, value: undefined }
    },
  }
}
