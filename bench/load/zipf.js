/**
 * Returns a function that chooses values by Zipf's law with the exponent 1: the second is chosen half as often as the
 * first, the third a third as often.
 */
export function createZipf(values) {
  let sum = 0
  const sums = values.map((_, index) => {
    sum += 1 / (index + 1)
    return sum
  })
  return () => {
    const chosen = Math.random() * sum
    let from = 0
    let to = sums.length - 1
    while (from < to) {
      const middle = (from + to) >> 1
      if (sums[middle] < chosen) from = middle + 1
      else to = middle
    }
    return values[from]
  }
}
