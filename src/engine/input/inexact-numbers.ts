/** A text, or a number, of JSON. The text comes first, so that no number is found in one. */
const token = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/gs

/** JSON without such a part has no number that this file is about, so that most JSON is not read twice. */
const suspicious = /\d{16}|\d[eE]\+?\d{2}/

/**
 * Finds a number that JavaScript cannot hold: a whole number beyond ±(2^53 − 1) would be rounded, and one beyond about
 * 1.8e308 would become infinite. Fractions are rounded to the nearest number of 64 bits, as by every reader of JSON.
 *
 * @param json valid JSON
 * @returns the number as it is written, shortened; undefined if there is none
 */
export function tooLargeNumberIn(json: string): string | undefined {
  if (!suspicious.test(json)) return undefined
  for (const [text] of json.matchAll(token)) if (!text.startsWith('"') && !isExact(text)) return text.slice(0, 40)
  return undefined
}

/** What is wrong with the numbers of JSON, after the name of what has them; undefined if nothing is. */
export function problemOfNumbers(json: string): string | undefined {
  const number = tooLargeNumberIn(json)
  return number && `has the number ${number}, which is too large: the largest is 9007199254740991. Send it as a text`
}

function isExact(number: string): boolean {
  const value = Number(number)
  return Number.isFinite(value) && (Number.isSafeInteger(value) || /[.eE]/.test(number))
}
