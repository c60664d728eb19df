const short = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 })
const signed = new Intl.NumberFormat(undefined, {
  notation: 'compact',
  maximumFractionDigits: 1,
  signDisplay: 'exceptZero',
})
const whole = new Intl.NumberFormat()
const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' })
const time = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
// Older browsers throw for codes that they do not know, so the code itself is the fallback.
const countries = new Intl.DisplayNames(undefined, { type: 'region', fallback: 'code' })

/** 1234567 ⇒ `1.2M`. */
export const shortNumber = (value: number) => short.format(value)
/** 1234567 ⇒ `+1.2M`. */
export const difference = (value: number) => signed.format(value)
/** 1234567 ⇒ `1,234,567`. */
export const wholeNumber = (value: number) => whole.format(value)
/** `2026-01-31T08:00:00.000Z` ⇒ `Jan 31, 2026`. */
export const date = (value: string) => day.format(new Date(value))
/** `2026-01-31T08:00:00.000Z` ⇒ `Jan 31, 2026, 8:00:00 AM`. */
export const dateAndTime = (value: string) => time.format(new Date(value))

/** `DE` ⇒ `Germany`. */
export function country(code: string): string {
  return /^[A-Z]{2}$/.test(code) ? (countries.of(code) ?? code) : code
}

/** `YOUTUBE` ⇒ `YouTube`, `CONNECTED` ⇒ `Connected`. */
export function words(name: string): string {
  return spellings[name] ?? name.charAt(0) + name.slice(1).toLowerCase().replaceAll('_', ' ')
}

const spellings: Readonly<Record<string, string>> = { YOUTUBE: 'YouTube', TIKTOK: 'TikTok' }
