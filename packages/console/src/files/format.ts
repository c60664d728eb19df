const number = new Intl.NumberFormat('en')
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' })
const minute = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' })
const second = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })

export const formatNumber = (value: number | null | undefined) => (value == null ? '–' : number.format(value))
export const formatCompact = (value: number | null | undefined) => (value == null ? '–' : compact.format(value))

/** ⇒ `24 Nov, 08:12` in this year, `24 Nov 2025` in others. */
export function formatTime(text: string, now = new Date()): string {
  const date = new Date(text)
  return (date.getFullYear() === now.getFullYear() ? minute : day).format(date)
}

/** ⇒ `24 Nov 2026, 08:12:31` */
export const formatExactTime = (text: string) => second.format(new Date(text))

/** ⇒ `340 ms`, `12 s`, `3 min 5 s`, `2 h 10 min` */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 1_000) return `${Math.max(0, Math.round(milliseconds))} ms`
  const seconds = Math.round(milliseconds / 1_000)
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** `JOB_SUCCEEDED` ⇒ `Job succeeded` */
export const formatEnum = (word: string) => word.charAt(0) + word.slice(1).toLowerCase().replaceAll('_', ' ')

export const plural = (count: number, word: string) => `${formatNumber(count)} ${word}${count === 1 ? '' : 's'}`
