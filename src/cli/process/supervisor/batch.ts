/**
 * Collects the items of one turn of the event loop and sends them together, because a message between processes costs more than its
 * content.
 *
 * @returns adds an item
 */
export function createBatch<Item>(send: (items: readonly Item[]) => void): (item: Item) => void {
  let items: Item[] = []

  function sendAll(): void {
    const batch = items
    items = []
    send(batch)
  }

  return (item) => {
    if (items.length === 0) setImmediate(sendAll)
    items.push(item)
  }
}
