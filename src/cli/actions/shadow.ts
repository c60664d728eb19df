import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { OperatorError } from '@fusion-gateway/base'
import { readConfig } from '../../config.ts'
import type { Target } from '../../old-service/send.ts'
import { interrupted, obeySignals, type Stopping, stopSignals } from '../../server/stop.ts'
import { type Comparison, createComparison } from '../../shadow/comparison.ts'
import { createRecorder, type Recording } from '../../shadow/recorder.ts'
import type { Group, Summary } from '../../shadow/report.ts'
import { readRequests } from '../../shadow/requests.ts'
import type { Io } from '../io.ts'
import { credentialHeaders } from './credential.ts'
import { printJson, printTable } from './terminal.ts'

export interface ShadowOptions {
  readonly old: string
  readonly new: string
  readonly oldKey?: string
  readonly newKey?: string
  readonly port?: number
  readonly record?: string
  readonly requests?: string
  readonly operations?: boolean
  readonly ignore?: string[]
  readonly writes?: boolean
  readonly showValues?: boolean
  readonly json?: boolean
  readonly failOn?: number
}

/** Compares the responses of two services until the requests or the command end, and prints what differs. */
export async function shadow(io: Io, options: ShadowOptions): Promise<void> {
  const { host, apiKey, oldApiKey } = readConfig(io.env)
  const recorder = options.record === undefined ? undefined : await createRecorder(options.record)
  const comparison = createComparison({
    old: targetOf(options.old, options.oldKey ?? oldApiKey),
    new: targetOf(options.new, options.newKey ?? apiKey),
    ignored: options.ignore ?? [],
    showsValues: options.showValues === true,
    sendsWrites: options.writes === true,
    recorder,
  })
  const stop = new AbortController()
  const disobey = obeySignals(stopSignals, stopping(stop), 0)
  try {
    if (options.port !== undefined) await proxy(io, comparison, { host, port: options.port, signal: stop.signal })
    else if (options.operations) await rehearse(io, comparison, { requests: options.requests, signal: stop.signal })
    else await comparison.replay(readRequests(options.requests ?? ''), stop.signal)
  } finally {
    await comparison.end()
    if (recorder) printRecording(io, await recorder.close())
    disobey()
    const summary = comparison.summary()
    if (options.json)
      printJson(io.stdout, [{ old: withoutUser(options.old), new: withoutUser(options.new), ...summary }])
    else print(io, summary, options.operations === true)
    if (options.failOn !== undefined && fails(summary, options.failOn)) io.exitCode = 1
  }
}

/** The first Ctrl-C ends the comparison with its report, the second one at once. */
function stopping(stop: AbortController): Stopping {
  return { drain: () => undefined, stop: () => stop.abort(), stopAtOnce: () => process.exit(interrupted) }
}

/** A pipeline that compares nothing is no proof. */
function fails({ compared, different }: Summary, failOn: number): boolean {
  return different >= failOn || compared === 0
}

function targetOf(url: string, key: string | undefined): Target {
  return { url, credential: key === undefined ? undefined : credentialHeaders(key) }
}

/** A URL without the name and the password that it can have. */
function withoutUser(text: string): string {
  const url = new URL(text)
  url.username = url.password = ''
  return url.href
}

async function proxy(
  { stderr }: Io,
  { server }: Comparison,
  { host, port, signal }: { readonly host: string; readonly port: number; readonly signal: AbortSignal },
): Promise<void> {
  server.listen({ host, port })
  await once(server, 'listening').catch((error: Error) => {
    throw new OperatorError(`The proxy cannot listen on port ${port}: ${error.message}`)
  })
  const { address, family, port: used } = server.address() as AddressInfo
  const shown = family === 'IPv6' ? `[${address}]` : address
  stderr.write(
    `Clients reach the old service at http://${shown}:${used}. Ctrl-C ends the proxy and prints the report.\n`,
  )
  if (!signal.aborted) await once(signal, 'abort')
}

/** Says how many requests are in the file, so that nobody takes it for all. */
function printRecording({ stderr }: Io, { recorded, missing }: Recording): void {
  const reasons = Object.entries(missing).map(([reason, count]) => `, ${count} not (${reason})`)
  stderr.write(`${recorded} requests recorded${reasons.join('')}.\n`)
}

/** Sends the operations of trusted documents and of recorded requests. Says which ones it cannot send. */
async function rehearse(
  { env, stderr }: Io,
  comparison: Comparison,
  { requests, signal }: { readonly requests: string | undefined; readonly signal: AbortSignal },
): Promise<void> {
  const { trusted } = readConfig(env)
  if (!trusted && requests === undefined)
    throw new OperatorError(
      'Set TRUSTED_DOCUMENTS to the documents of clients, or give recorded requests with --requests. Usage has only the hashes of documents.',
    )
  const warn = ({ documentId }: { documentId?: unknown }, message: string) =>
    stderr.write(`${message}: ${documentId}\n`)
  // Only here is the schema needed.
  const { readTrustedDocuments } = await import('@fusion-gateway/gateway-kit')
  const { schemas } = await import('../../domain/schema.graphql.ts')
  const { routes } = await import('../../rest/routes.ts')
  const documents = {
    trusted: trusted && readTrustedDocuments(trusted, schemas.schema, { warn }),
    ofRoutes: routes.map(({ operation }) => operation),
    recorded: requests === undefined ? none() : readRequests(requests),
  }
  await comparison.operations(documents, signal, (name, reason) => stderr.write(`Left out: ${name} (${reason})\n`))
}

async function* none(): AsyncGenerator<never> {}

function print({ stdout, stderr }: Io, summary: Summary, hasTimesOfRoutes: boolean): void {
  const { requests, compared, equal, different, notCompared, differences, notes, otherDifferences } = summary
  const header = ['ROUTE', 'PATH', 'KIND', 'RESPONSES', 'VALUES', 'OLD', 'NEW', 'EXAMPLE']
  if (differences.length + notes.length > 0) printTable(stdout, header, [...differences, ...notes].map(cellsOf))
  stderr.write(`${requests} requests, ${compared} compared: ${equal} equal, ${different} different.\n`)
  const reasons = Object.entries(notCompared).map(([reason, count]) => `${count} ${reason}`)
  if (reasons.length > 0) stderr.write(`Not compared: ${reasons.join('; ')}.\n`)
  if (notes.length > 0)
    stderr.write(`No response is different because of ${[...new Set(notes.map(({ kind }) => kind))].join(', ')}.\n`)
  if (otherDifferences > 0) stderr.write(`${otherDifferences} more differences have no group of their own.\n`)
  const routes = hasTimesOfRoutes ? summary.routes : []
  for (const { route, ...times } of [...routes, { route: 'All', ...summary.milliseconds }]) {
    stderr.write(`${route}: ${shownTimes(times)}\n`)
  }
}

/** The times to the end of a response: the median, and what 95 % of the responses did not exceed. */
function shownTimes({ old, new: other }: Summary['milliseconds']): string {
  return `old ${old.p50} ms, p95 ${old.p95} ms; new ${other.p50} ms, p95 ${other.p95} ms.`
}

function cellsOf({ route, path, kind, responses, values, example }: Group) {
  return [route, path, kind, responses, values, example.old, example.new, example.request]
}
