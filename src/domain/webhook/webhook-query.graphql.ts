import { print } from 'graphql'
import { createContext, type Services } from '../../engine/context.ts'
import { GatewayError, invalidField } from '../../engine/errors.ts'
import type { Operations } from '../../engine/graphql/operation/operations.ts'
import { createPreparer } from '../../engine/graphql/operation/prepare/prepare.ts'
import { Held } from '../../engine/limits/held.ts'
import type { Logger } from '../../engine/telemetry/logger.ts'
import type { Metrics } from '../../engine/telemetry/metrics.ts'
import { Refusal } from '../../engine/telemetry/refusal.ts'
import { schemas } from '../schema.graphql.ts'
import type { RunQuery } from './delivery/attempt.ts'
import type { CheckQuery } from './webhook.ts'

/** The most points that the query of a webhook may cost, because it is executed for each delivery. */
const maxCost = 1_000

/** Creates the check of the queries of webhooks: each is one query operation with the variable `$id: ID!`. */
export function createQueryCheck(metrics: Metrics): CheckQuery {
  const { prepare } = createPreparer({ schemas, introspection: false, metrics })
  return ({ scopes }, text) => {
    const { operation, errors } = prepare(text)
    if (!operation) throw invalidField('query', 'INVALID_FORMAT', `is not valid: ${errors[0]?.message}`)
    const { kind, definition } = operation
    const [variable, ...others] = definition.variableDefinitions ?? []
    const hasId = variable?.variable.name.value === 'id' && print(variable.type) === 'ID!' && others.length === 0
    if (kind !== 'query' || !hasId) {
      throw invalidField('query', 'INVALID_FORMAT', 'must be a query with one variable: query ($id: ID!) { … }')
    }
    const cost = operation.costOf({ id: 'any' })
    if (cost > maxCost) {
      throw invalidField('query', 'OUT_OF_RANGE', `must cost at most ${maxCost} points, and not ${cost}`)
    }
    const missing = operation.scopes.filter((scope) => !scopes.includes(scope))
    if (missing.length > 0) {
      throw invalidField('query', 'OUT_OF_RANGE', `needs scopes that you do not have: ${missing.join(', ')}`)
    }
  }
}

/** How the queries of webhooks are counted. */
const client = { name: 'webhook', version: undefined }

interface RunQueryOptions {
  readonly services: Services
  readonly operations: Pick<Operations, 'prepare' | 'runOperation'>
  readonly log: Logger
}

/** Returns a function that runs the query of a webhook as a request does, at the cost of its key. */
export function createRunQuery({ services, operations, log }: RunQueryOptions): RunQuery {
  return async (viewer, text, id) => {
    const { operation } = operations.prepare(text)
    if (!operation) return { error: 'is no longer valid' }
    const statements = { statements: 0 }
    const context = createContext(services, { viewer, log, statements, client })
    const refusal = new Refusal(services.metrics)
    const held = new Held()
    const toRun = { operation, context, statements, held, variables: { id }, bodyLength: 0 }
    const { result } = await operations
      .runOperation(toRun)
      .catch((thrown: unknown) => {
        refusal.note(thrown)
        throw thrown
      })
      .finally(() => held.end())
    const [error] = result.errors ?? []
    refusal.note(error)
    if (error?.extensions['code'] === 'SERVICE_UNAVAILABLE')
      throw new GatewayError('SERVICE_UNAVAILABLE', error.message)
    return error ? { error: error.message } : { data: result.data }
  }
}
