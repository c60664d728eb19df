/** How long numbers are shown again: less than Prometheus usually waits between two scrapes. */
const maxAgeMilliseconds = 10_000

/**
 * Returns the function that collects numbers which the database has. A scrape gets the numbers of the scrape before,
 * and starts to read new ones, so that it does not wait for a database that hangs.
 *
 * @param read reads the numbers
 * @param show gives them to the gauges
 * @param clear removes them from the gauges; called while reading fails
 */
export function readBehind<Numbers>(
  read: () => Promise<Numbers>,
  show: (numbers: Numbers) => void,
  clear: () => void,
): () => void {
  let readAt = Number.NEGATIVE_INFINITY
  return () => {
    if (performance.now() - readAt < maxAgeMilliseconds) return
    readAt = performance.now()
    read().then(show, clear)
  }
}
