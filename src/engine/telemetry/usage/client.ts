import type { IncomingHttpHeaders } from 'node:http'

/** The application that sends a request, as it names itself. */
export interface Client {
  readonly name: string | undefined
  readonly version: string | undefined
}

/** The names that clients choose are cut to this length. */
export const maxNameLength = 100

/** The headers in which clients name themselves. The second ones are those of Apollo's clients. */
const [name, version] = ['graphql-client-name', 'graphql-client-version'] as const
const [apolloName, apolloVersion] = ['apollographql-client-name', 'apollographql-client-version'] as const

/** The headers, or entries of the payload of a WebSocket, in which the client names itself. */
export function clientHeaders(sent: Readonly<Record<string, unknown>>): Record<string, string> {
  const names: readonly string[] = [name, version, apolloName, apolloVersion]
  const entries = Object.entries(sent).map(([key, value]) => [key.toLowerCase(), value] as const)
  return Object.fromEntries(entries.filter(([key, value]) => names.includes(key) && typeof value === 'string')) as never
}

/**
 * Reads the headers in which clients name themselves. Characters that are not visible ASCII become `?`, because names
 * are printed.
 */
export function clientOf(headers: IncomingHttpHeaders): Client {
  return {
    name: textOf(headers[name] ?? headers[apolloName]),
    version: textOf(headers[version] ?? headers[apolloVersion]),
  }
}

function textOf(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined
  const text = String(header).trim().slice(0, maxNameLength)
  return text.replace(/[^ -~]/g, '?') || undefined
}
