import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'

export interface Page {
  readonly items: readonly unknown[]
  /** The cursor of the next page; undefined if this is the last one. */
  readonly next: string | undefined
}

/**
 * Streams a whole list as the only key of a JSON object: `{"users":[…]}`. It holds one page at a time, reads the next
 * one when the client has received the last, and stops when the client goes away. If a page fails, the stream is
 * destroyed, so that the client sees a closed connection and not a list that looks complete.
 *
 * @param first the first page. An error in it can still become a status
 */
export function streamList(key: string, first: Page, readPage: (cursor: string) => Promise<Page>): Readable {
  async function* chunks() {
    let page = first
    let separator = `{${JSON.stringify(key)}:[`
    for (;;) {
      const { items, next } = page
      yield separator + items.map((item) => JSON.stringify(item)).join(',')
      if (next === undefined) break
      // The embedded database reads a page without waiting, so this lets other requests run in between.
      await setImmediate()
      page = await readPage(next)
      separator = page.items.length > 0 ? ',' : ''
    }
    yield ']}'
  }
  return Readable.from(chunks(), { objectMode: false, highWaterMark: 1 })
}
