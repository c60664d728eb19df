import type { Viewer } from '@fusion-gateway/auth'
import { GatewayError, invalidField } from '@fusion-gateway/base'
import type { Operations } from '@fusion-gateway/gateway-kit'
import { createContext, createPreparer, type PreparerOptions, type Services } from '@fusion-gateway/gateway-kit'
import { type FairQueue, Held } from '@fusion-gateway/limits'
import { readSelection, type SelectedField } from '@fusion-gateway/pothos-trees'
import { type Logger, Refusal } from '@fusion-gateway/telemetry'
import { getArgumentValues, print } from 'graphql'
import { schemas } from '../schema.graphql.ts'
import type { RunQuery } from './delivery/attempt.ts'
import type { CheckQuery } from './webhook.ts'

// The services of a process have the cache, so that requests and webhooks share it.
export { createDocumentCache, type DocumentCache } from '@fusion-gateway/gateway-kit'

/** The most points that the query of a webhook may cost, because it is executed for each delivery. */
const maxCost = 1_000

interface QueryCheckOptions extends Pick<PreparerOptions, 'documents' | 'metrics'> {
  readonly steps: FairQueue
}

/** Creates the check of the queries of webhooks: each is one query operation with the variable `$id: ID!`. */
export function createQueryCheck({ steps, ...options }: QueryCheckOptions): CheckQuery {
  const { prepare } = createPreparer({ ...options, schemas, introspection: false })

  async function check(viewer: Viewer, text: string): Promise<void> {
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
    const missing = operation.scopes.filter((scope) => !viewer.scopes.includes(scope))
    if (missing.length > 0) {
      throw invalidField('query', 'OUT_OF_RANGE', `needs scopes that you do not have: ${missing.join(', ')}`)
    }
    await checkArguments(readSelection(schemas.schema, operation.document, definition).fields, viewer)
  }

  return (viewer, text) => steps.run(viewer, () => check(viewer, text))
}

/** Stands for rows and services: it has every property, and throws when it is used as a function. */
function createUnreachable(): never {
  const unreachable: unknown = new Proxy(() => undefined, {
    get: () => unreachable,
    apply() {
      throw new Error('There are no rows')
    },
  })
  return unreachable as never
}

/**
 * Runs the resolvers of fields with arguments, without rows and without a database. What they reject then, they reject
 * for each event: a page that is too long, the cursor of another list, a filter whose scope the viewer lacks. They have
 * accepted their arguments when they use anything else.
 *
 * @throws GatewayError BAD_USER_INPUT
 */
async function checkArguments(fields: readonly SelectedField[], viewer: Viewer, parent = ''): Promise<void> {
  for (const { key, node, field, conditions, selections } of fields) {
    // The only variable is the id, so the conditions are literals.
    if (conditions.some(({ value }) => !value)) continue
    const path = `${parent}${key}`
    if (node.arguments?.length) {
      // Of its own for each field: related-rows.ts keeps what arguments mean for the loaders of a request.
      const nothing = createUnreachable()
      const context = new Proxy({}, { get: (_, name) => (name === 'viewer' ? viewer : nothing) })
      try {
        const args = getArgumentValues(field, node, { id: 'any' })
        // Without nodes, a resolver follows no plan of the operation.
        await field.resolve?.(nothing, args, context, { fieldNodes: [] } as never)
      } catch (error) {
        if (error instanceof GatewayError) {
          throw invalidField('query', 'OUT_OF_RANGE', `is rejected at ${path}: ${error.message}`)
        }
      }
    }
    await checkArguments(selections, viewer, `${path}.`)
  }
}

/** How the queries of webhooks are counted. */
const client = { name: 'webhook', version: undefined }

interface RunQueryOptions {
  readonly services: Services
  readonly operations: Pick<Operations, 'prepareFor' | 'runOperation'>
  readonly log: Logger
}

/** Returns a function that runs the query of a webhook as a request does, at the cost of its key. */
export function createRunQuery({ services, operations, log }: RunQueryOptions): RunQuery {
  return async (viewer, text, id) => {
    const { operation } = await operations.prepareFor(viewer, text, undefined, () => false, client)
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
