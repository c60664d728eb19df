const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const month = `(?<month>${months.join('|')})`
const time = String.raw`(?<hours>\d\d):(?<minutes>\d\d):(?<seconds>\d\d)`
const days = 'Mon|Tue|Wed|Thu|Fri|Sat|Sun'
const longDays = 'Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday'

/** The forms of a date, all in UTC. */
const dates = [
  // Sun, 06 Nov 1994 08:49:37 GMT
  new RegExp(String.raw`^(?:${days}), (?<day>\d\d) ${month} (?<year>\d{4}) ${time} GMT$`),
  // Sunday, 06-Nov-94 08:49:37 GMT
  new RegExp(String.raw`^(?:${longDays}), (?<day>\d\d)-${month}-(?<year>\d\d) ${time} GMT$`),
  // Sun Nov  6 08:49:37 1994
  new RegExp(String.raw`^(?:${days}) ${month} (?<day>\d\d| \d) ${time} (?<year>\d{4})$`),
]

/**
 * Reads the header `retry-after`, which has seconds or a date.
 *
 * @returns how long to wait, in seconds; undefined if the header is absent or says neither
 * @see https://www.rfc-editor.org/rfc/rfc9110#field.retry-after
 */
export function readRetryAfter(header: string | readonly string[] | null | undefined): number | undefined {
  if (typeof header !== 'string') return undefined
  if (/^\d+$/.test(header)) return Number(header)
  const date = readDate(header)
  return date === undefined ? undefined : Math.max(0, (date - Date.now()) / 1_000)
}

/** @see https://www.rfc-editor.org/rfc/rfc9110#section-5.6.7 */
function readDate(text: string): number | undefined {
  const parts = dates.map((form) => form.exec(text)?.groups).find((groups) => groups !== undefined)
  if (!parts) return undefined
  const { year = '', month: name = '', day, hours, minutes, seconds } = parts
  const [date, hour, minute, second] = [Number(day), Number(hours), Number(minutes), Number(seconds)]
  // A minute can have a leap second.
  if (hour > 23 || minute > 59 || second > 60) return undefined
  const thisYear = new Date().getUTCFullYear()
  let fullYear = year.length === 2 ? Math.floor(thisYear / 100) * 100 + Number(year) : Number(year)
  // Two digits that would be more than 50 years in the future mean the past.
  if (year.length === 2 && fullYear > thisYear + 50) fullYear -= 100
  const start = new Date(0).setUTCFullYear(fullYear, months.indexOf(name), date)
  const isReal = new Date(start).getUTCDate() === date
  return isReal ? start + ((hour * 60 + minute) * 60 + second) * 1_000 : undefined
}
