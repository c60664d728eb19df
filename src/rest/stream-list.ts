import { Readable } from 'node:stream'

/** One page of a list: its items, ready to be written, and where the next one begins. */
export interface Page {
  readonly items: readonly unknown[]
  readonly next: string | undefined
}

/**
 * A JSON object with one key that holds a whole list, written page by page: `{"users":[…]}`.
 *
 * It never holds more than a page, reads the next one when the client has taken the last, and stops when the client
 * goes away. When a page fails the stream is destroyed with the error, so the client sees a cut connection and not a
 * list that looks complete.
 *
 * @param first the first page, read already, so that an error in it can still be answered with a status
 */
export function streamList(key: string, first: Page, readPage: (cursor: string) => Promise<Page>): Readable {
  async function* chunks() {
    let page = first
    let separator = `{${JSON.stringify(key)}:[`
    for (;;) {
      const { items, next } = page
      yield separator + items.map((item) => JSON.stringify(item)).join(',')
      if (next === undefined) break
      page = await readPage(next)
      separator = page.items.length > 0 ? ',' : ''
    }
    yield ']}'
  }
  return Readable.from(chunks(), { objectMode: false, highWaterMark: 1 })
}
