import type { Metrics } from './metrics.ts'

/** How long numbers are shown again: less than Prometheus usually waits between two scrapes. */
const maxAgeMilliseconds = 10_000

/**
 * Returns the function that collects numbers which the database has. A scrape gets the numbers of the scrape before,
 * and starts to read new ones, so that it does not wait for a database that hangs. While reading fails, the last
 * numbers stay, and `fusion_numbers_age_seconds` says how old they are: an alert that waits for them goes on waiting.
 *
 * @param name of the numbers in that metric
 * @param read reads the numbers
 * @param show gives them to the gauges
 */
export function readBehind<Numbers>(
  { noteNumbers }: Pick<Metrics, 'noteNumbers'>,
  name: string,
  read: () => Promise<Numbers>,
  show: (numbers: Numbers) => void,
): () => void {
  let readAt = Number.NEGATIVE_INFINITY
  noteNumbers(name)
  return () => {
    if (performance.now() - readAt < maxAgeMilliseconds) return
    readAt = performance.now()
    read().then(
      (numbers) => {
        show(numbers)
        noteNumbers(name)
      },
      () => undefined,
    )
  }
}
