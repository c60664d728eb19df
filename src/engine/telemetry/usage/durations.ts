// Durations are counted in fixed buckets, so that the counts of several processes and days add up. Each bucket ends √2
// times as late as the one before: at 1 ms, 1.4 ms, 2 ms, … 11.6 s. The last one has no end.

export const bucketCount = 29

export function bucketOf(milliseconds: number): number {
  const bucket = Math.ceil(2 * Math.log2(Math.max(milliseconds, 1)))
  return Math.min(bucket, bucketCount - 1)
}

/**
 * The duration in milliseconds that a part of the requests did not exceed, such as 0.95, to within its bucket. 0
 * without requests.
 */
export function quantileOf(part: number, counts: readonly number[]): number {
  let left = part * counts.reduce((sum, count) => sum + count, 0)
  if (left === 0) return 0
  const bucket = counts.findIndex((count) => {
    left -= count
    return left <= 0
  })
  const [start, end] = [bucket === 0 ? 0 : 2 ** ((bucket - 1) / 2), 2 ** (bucket / 2)]
  const within = 1 + left / (counts[bucket] ?? 1)
  return Math.round((start + (end - start) * within) * 10) / 10
}
