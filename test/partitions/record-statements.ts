// Loaded first in each process of a partitioned run (`node --import`). It writes down the statements of the gateway,
// with the parameters of the first time, for explain-statements.ts.
import { AsyncLocalStorage } from 'node:async_hooks'
import { tracingChannel } from 'node:diagnostics_channel'
import { appendFileSync } from 'node:fs'
import path from 'node:path'
import pg from 'pg'

const file = path.join(process.env['TEST_STATEMENTS'] ?? '.', `${process.pid}.ndjson`)
const recorded = new Set<string>()

// In a process of the test runner, tests send statements over the connections of the gateway too, by Prisma Client or
// as text. The gateway names its own statements, and otherwise sends them while it handles a request.
const isCommand = /(?:bin\/fusion\.js|src\/cli\.ts)$/.test(process.argv[1] ?? '')
const requests = new AsyncLocalStorage<unknown>()
tracingChannel('fastify.request.handler').start.bindStore(requests, (context) => context)

interface Query {
  readonly text: string
  readonly name?: string
  readonly values?: readonly unknown[]
}

function record({ text, name, values = [] }: Query): void {
  const isOfGateway = isCommand || name !== undefined || requests.getStore() !== undefined
  if (!isOfGateway || recorded.has(text)) return
  recorded.add(text)
  appendFileSync(file, `${JSON.stringify({ text, values })}\n`)
}

const { query } = pg.Client.prototype
pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
  const { connectionParameters } = this as unknown as { readonly connectionParameters: pg.ClientConfig }
  const [sent] = args
  if (connectionParameters.application_name === 'fusion-gateway' && typeof sent === 'object') record(sent as Query)
  return Reflect.apply(query, this, args)
} as typeof query
