/** The values that one client sent for a field, one after the other. */
export interface Versions {
  /** Notes a value before it is sent. Call the result when it is acknowledged. */
  send(value: string): () => void
  /** The number of values that are certainly stored or replaced: up to the last one that was acknowledged. */
  certain(): number
  /**
   * The number of values up to the stored one.
   *
   * @param certain what `certain` returned before the value was read
   * @returns undefined if this value cannot be stored
   */
  position(stored: string | undefined, certain: number): number | undefined
}

/** Creates the versions of a field for which nothing was sent yet. */
export function createVersions(): Versions {
  const values: string[] = []
  let acknowledged = 0
  return {
    send(value) {
      values.push(value)
      const position = values.length
      return () => {
        acknowledged = position
      }
    },
    certain: () => acknowledged,
    position(stored, certain) {
      if (stored === undefined) return certain === 0 ? 0 : undefined
      const position = values.lastIndexOf(stored) + 1
      return position > 0 && position >= certain ? position : undefined
    },
  }
}
