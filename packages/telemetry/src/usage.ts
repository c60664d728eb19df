import type { IncomingHttpHeaders } from 'node:http'

/** The application that sends a request, as it names itself. */
export interface Client {
  readonly name: string | undefined
  readonly version: string | undefined
}

export interface OperationSummary {
  readonly name: string | undefined
  readonly hash: string | undefined
  readonly fields: ReadonlySet<string>
}

export interface Caller {
  readonly viewer: { readonly tenantAppId: string; readonly keyId: string }
  readonly client: Client | undefined
  readonly operation: OperationSummary
}

/** What documents that are not valid count as. */
export const invalidOperation: OperationSummary = { name: '(invalid)', hash: undefined, fields: new Set() }

/** Counts the operations that a process executes. The domain implements it (domain/usage/usage-counts.ts). */
export interface UsageCounter {
  count(caller: Caller, milliseconds: number, hasFailed: boolean): void
  addPoints(caller: Caller, points: number): void
}

/** The names that clients choose are cut to this length. */
export const maxNameLength = 100

/** The headers in which clients name themselves. The second ones are those of Apollo's clients. */
const [name, version] = ['graphql-client-name', 'graphql-client-version'] as const
const [apolloName, apolloVersion] = ['apollographql-client-name', 'apollographql-client-version'] as const

/** The headers, or entries of the payload of a WebSocket, in which the client names itself. */
export function clientHeaders(sent: Readonly<Record<string, unknown>>): Record<string, string> {
  const names: readonly string[] = [name, version, apolloName, apolloVersion]
  const entries = Object.entries(sent).flatMap(([given, value]) => {
    const key = given.toLowerCase()
    return names.includes(key) && typeof value === 'string' ? [[key, value] as const] : []
  })
  return Object.fromEntries(entries)
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
