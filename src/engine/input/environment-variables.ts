import { z } from 'zod'
import { problemsOfUrl } from '../db/postgres/url-problems.ts'

// The formats of environment variables, whose values are texts.

/** A duration: in seconds in the environment, in milliseconds in the configuration. */
export function seconds(byDefault: number, least = 0.001) {
  return duration(least).default(byDefault * 1_000)
}

/** A duration whose default depends on other variables. */
export function duration(least: number) {
  const message = `must be a number of seconds from ${least} to 86400`
  return decimal(/^\d+(\.\d+)?$/, message)
    .pipe(z.number().min(least, message).max(86_400, message))
    .transform((value) => Math.round(value * 1_000))
}

/** A number from 0 to 1. */
export function ratio(byDefault: number) {
  const message = 'must be a number from 0 to 1'
  return decimal(/^\d*\.?\d+$/, message)
    .pipe(z.number().max(1, message))
    .default(byDefault)
}

/** A size in KiB, at most that of a request's body, 1 MiB. */
export function kibibytes(byDefault: number) {
  return integer('a number of KiB from 1 to 1024', 1, 1_024).default(byDefault)
}

/** A whole number, described as `a number of connections from 1 to 1000`. */
export function integer(description: string, min: number, max = Number.MAX_SAFE_INTEGER) {
  const message = `must be ${description}`
  return decimal(/^\d+$/, message).pipe(z.number().min(min, message).max(max, message))
}

/** Digits only: `Number` also reads `' '`, `'0x10'` and `'1e3'`. */
function decimal(format: RegExp, message: string) {
  return z.string().regex(format, { message, abort: true }).transform(Number)
}

/**
 * A URL.
 *
 * @param scheme how it begins
 */
export function url(scheme: RegExp, example: string) {
  return z.string().refine((text) => scheme.test(text) && URL.canParse(text), `must be a URL: ${example}`)
}

/** Entries that are separated by commas. */
export function list(isValid: (entry: string) => boolean, message: string) {
  return z
    .string()
    .default('')
    .transform((text) => text.split(',').map((entry) => entry.trim()))
    .transform((entries) => entries.filter((entry) => entry !== ''))
    .refine((entries) => entries.every(isValid), { message, abort: true })
}

const exampleUrl = 'postgresql://user@host:port/database'

/** A URL of a PostgreSQL server without parts that have no effect. A URL from a file may end with a new line. */
export function postgresUrl() {
  return z
    .string()
    .trim()
    .superRefine((url, context) => problemsOfUrl(url, exampleUrl).forEach(context.addIssue))
}

/** Such URLs, separated by commas. */
export function postgresUrls() {
  const example = `${exampleUrl}, or several separated by commas`
  return list(() => true, '').superRefine((urls, context) =>
    urls.flatMap((url) => problemsOfUrl(url, example)).forEach(context.addIssue),
  )
}

/** Whether a text can be the name of a header. @see https://www.rfc-editor.org/rfc/rfc9110#section-5.6.2 */
export function isHeaderName(text: string): boolean {
  return /^[\w!#$%&'*+.^`|~-]+$/.test(text)
}

/** Whether a text is an origin, such as `https://app.example.com`. */
export function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text
}
