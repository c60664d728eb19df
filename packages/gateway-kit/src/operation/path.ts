import { GatewayError, withHeaders } from '@fusion-gateway/base'
import type { OperationLimits } from '@fusion-gateway/limits'
import { maxNameLength, type Refusal } from '@fusion-gateway/telemetry'
import { type ExecutionArgs, type ExecutionResult, GraphQLError, specifiedRules, validate } from 'graphql'
import type { ChangeLog } from '../change-log.ts'
import type { Services } from '../context.ts'
import type { Live } from '../live/directive.ts'
import type { FollowLive } from '../live/follow.ts'
import { contextOf, viewerOf } from '../request.ts'
import {
  type Admissions,
  longResponse,
  maxResponseLength,
  mebibyte,
  pointsOfLength,
  requireResponseLength,
  type UsageRecorder,
} from './admit.ts'
import { type OperationRequest, type OperationResponse, refusalOf } from './execute.ts'
import { acceptsPatches, asksForPosition, type DocumentFinder } from './params.ts'
import { DocumentError } from './prepare/bounds.ts'
import type { Preparation, PreparedOperation } from './prepare/prepare.ts'
import type { createResponseMemory } from './response-memory.ts'
import {
  type DocumentRequest,
  GatewayContext,
  type GatewayPlugin,
  type PluginContext,
  type Results,
  type Run,
  requestOf,
} from './run.ts'
import type { SubscriptionRequest } from './send-each.ts'
import type { Subscribe } from './subscribe.ts'
import { type KeptResponse, WrittenResult } from './written-result.ts'

// The plugins of Envelop that an operation passes. `createOperations` has their list.

/** Sets the context of resolvers: they see the rows of the viewer. */
export function useViewer(services: Services): GatewayPlugin {
  return {
    onContextBuilding({ context }) {
      const run = GatewayContext.runOf(context)
      if (run.document) run.context = contextOf(run.document.state, services)
    },
  }
}

type Prepare = (document: DocumentRequest, params: Run['params']) => Promise<Preparation>

/** Finds the document of a client, trusted or persisted, and prepares it, once for all requests that send it. */
export function useDocuments(documents: DocumentFinder, prepare: Prepare): GatewayPlugin {
  async function find(run: Run, document: DocumentRequest): Promise<void> {
    const { state, bodyLength, readsAnew = false, reader } = document
    const { tenantAppId } = viewerOf(state)
    const params = documents.find(document.params, tenantAppId, state.log)
    run.params = params
    const idempotencyKey = document.keyOf(params)
    run.preparation = await prepare(document, params)
    const { preparation, context } = run
    const { operation } = preparation
    if (!operation || !context) return
    state.operationName = operation.name
    documents.store(params, tenantAppId)
    const { statements, held } = state
    const { variables = {} } = params
    const withPosition = asksForPosition(state.headers, params)
    const own = { operation, variables, context, statements, held, idempotencyKey }
    run.request = { ...own, bodyLength, readsAnew, withPosition, ...reader }
    if (document.streams) run.live = liveOf(run.request)
  }

  return {
    onContextBuilding({ context, extendContext }) {
      const run = GatewayContext.runOf(context)
      if (!run.document) return undefined
      return find(run, run.document).then(() => extendContext({ params: run.params }))
    },
  }
}

/**
 * How a query is followed, if it is live.
 *
 * @throws GatewayError BAD_USER_INPUT if a variable of the directive is out of range
 */
function liveOf({ operation, variables }: OperationRequest): Live | undefined {
  if (operation.kind === 'mutation' || (operation.kind === 'query' && !operation.definition.directives?.length))
    return undefined
  const { coerced } = operation.coerce(variables)
  try {
    const live = coerced && operation.live(coerced)
    return live?.isOn ? live : undefined
  } catch (error) {
    throw new GatewayError('BAD_USER_INPUT', (error as Error).message)
  }
}

/** Parsing and validating are done when a document is prepared. What other plugins add to it is checked besides. */
export function useParseOnce(): GatewayPlugin {
  return {
    onParse({ context, setParseFn, setParsedDocument }) {
      const { preparation } = GatewayContext.runOf(context)
      if (preparation?.document) setParsedDocument(preparation.document)
      else if (preparation?.errors) {
        const [error] = preparation.errors
        setParseFn(() => {
          throw error
        })
      }
    },
    onValidate({ context, setValidationFn }) {
      const { preparation } = GatewayContext.runOf(context)
      if (!preparation) return
      const { errors = [] } = preparation
      // Yoga adds the rules of the specification before those of plugins.
      setValidationFn((schema, document, rules) =>
        rules.length > specifiedRules.length
          ? [...errors, ...validate(schema, document, rules.slice(specifiedRules.length))]
          : errors,
      )
    },
  }
}

/** What a step does before and after the next one. */
type Wrap<Result> = (run: Run, next: () => Promise<Result>) => Promise<Result>

export interface Step {
  /** Around queries and mutations. */
  readonly execution?: Wrap<ExecutionResult>
  /** Around the start of subscriptions. */
  readonly subscription?: Wrap<Results>
}

const aroundExecution = (execution: Wrap<ExecutionResult>): Step => ({ execution })

const around = (wrap: Wrap<Results>): Step => ({ execution: wrap as Wrap<ExecutionResult>, subscription: wrap })

/**
 * Executes operations in steps, of which the first is around the others. They are one plugin: Envelop calls the hooks
 * of each plugin in every request, which takes more CPU than these steps (docs/decisions/0048).
 */
export function useSteps(...steps: readonly Step[]): GatewayPlugin {
  const execute = executeInSteps(...steps)
  const subscribe = compose(steps.flatMap(({ subscription }) => subscription ?? []))
  return {
    onExecute: ({ setExecuteFn }) => setExecuteFn((args) => execute(runOf(args))),
    onSubscribe: ({ setSubscribeFn }) => setSubscribeFn((args) => subscribe(runOf(args))),
  }
}

const runOf = ({ contextValue }: Pick<ExecutionArgs, 'contextValue'>) =>
  GatewayContext.runOf(contextValue as PluginContext)

/** Executes a query or a mutation in steps, of which the first is around the others. */
export const executeInSteps = (...steps: readonly Step[]) => compose(steps.flatMap(({ execution }) => execution ?? []))

function compose<Result>(wraps: readonly Wrap<Result>[]) {
  const noNext = () => Promise.reject(new Error('No step executes the operation'))
  const first = wraps.reduceRight<(run: Run) => Promise<Result>>(
    (next, wrap) => (run) => wrap(run, () => next(run)),
    noNext,
  )
  return first
}

/**
 * Decides what clients see of errors. An operation that is refused gets a result for the plugins of operators;
 * transports get the error itself.
 *
 * @param introspection whether errors may have names of the schema
 * @param hasOthers whether there are plugins of operators
 */
export function maskErrors(introspection: boolean, hasOthers: boolean): Step {
  return around(async (run, next) => {
    try {
      const results = await next()
      const { state } = run.document ?? {}
      run.results = state ? changed(results, (result) => shownResult(result, state.refusal, introspection)) : results
      run.shown = hasOthers ? WrittenResult.toObject(run.results) : run.results
      return run.shown
    } catch (error) {
      run.refusal = { error }
      return { errors: [refusalOf(error instanceof GatewayError ? error : new GatewayError('INTERNAL', failed))] }
    }
  })
}

const failed = 'The operation has failed.'

/** A result whose refusals are noted, and whose errors reveal no names of the schema if it may not be introspected. */
function shownResult(result: ExecutionResult, refusal: Refusal, introspection: boolean): ExecutionResult {
  for (const error of result.errors ?? []) refusal.note(error)
  return introspection || !result.errors ? result : { ...result, errors: result.errors.map(withoutNames) }
}

/** Counts who requests what, how long it takes, and whether it fails. */
export function countUsage(usage: UsageRecorder): Step {
  return around((run, next) =>
    usage.record(requestOf(run), next, (result) => !(Symbol.asyncIterator in result) && result.errors !== undefined),
  )
}

/** The factor for the cost of a response that is stored for its idempotency key. */
const storedFactor = 10

/**
 * Takes what an operation may cost, gives back the points that it did not use, and counts a long response until it is
 * sent.
 */
export function takePoints(admissions: Admissions, { unsent }: Pick<OperationLimits, 'unsent'>): Step {
  return aroundExecution(async (run, next) => {
    const request = requestOf(run)
    const { operation, context, held } = request
    const { viewer } = context
    const points = await admissions.admit(request)
    try {
      await unsent.check(viewer)
      const result = await next()
      const { length, isStored } = run.response
      if (request.goesOn?.(result) !== true) {
        await points.settle(pointsOfLength(length) * (isStored ? storedFactor : 1))
      }
      // A mutation has had its effect, so its response must say so, whatever its length.
      if (operation.kind !== 'mutation') requireResponseLength(length)
      if (length >= longResponse) {
        const size = Math.ceil(length / mebibyte)
        held.untilOver(operation.kind === 'query' ? await unsent.take(viewer, size) : unsent.hold(viewer, size))
      }
      const { requested, points: actual, budget } = points
      const cost = { requested, actual, remaining: budget?.remaining ?? null }
      const extensions = { cost, ...(run.position !== undefined && { position: run.position }) }
      run.response.headers = { ...points.headers, ...run.response.headers }
      const { kept } = run.response
      return kept ? new WrittenResult(kept, extensions) : { ...result, extensions }
    } catch (error) {
      if (!points.hasBegun) await points.settle()
      throw error instanceof GatewayError ? withHeaders(error, points.headers) : error
    }
  })
}

/** Takes the response of a query that repeats from the memory, and keeps those that may repeat. */
export function remember(
  memory: ReturnType<typeof createResponseMemory> | undefined,
  changeLog: ChangeLog | undefined,
): Step {
  return aroundExecution(async (run, next) => {
    const request = requestOf(run)
    const { operation, context, statements } = request
    // Before the first statement of the query, so that nothing is missed that the query does not see.
    const asksPosition = request.withPosition === true && operation.kind === 'query'
    const position = asksPosition ? await changeLog?.readPosition(context) : undefined
    const remembered = request.readsAnew ? undefined : await memory?.find(request)
    run.position = position
    run.isCurrent = position !== undefined || remembered?.keep !== undefined
    const known = remembered?.response
    statements.isKept = known !== undefined
    try {
      if (known) return await responseOf(run, known)
      const result = await next()
      const { data, errors } = result
      const { length, headers } = run.response
      if (remembered) run.response.headers = { 'cache-status': 'fusion; fwd=miss', ...headers }
      const mayKeep = data && !errors && length <= maxResponseLength && request.goesOn?.(result) !== true
      if (mayKeep) run.response.kept = remembered?.keep?.({ data, length })
      return result
    } finally {
      remembered?.release()
    }
  })
}

const noResult: ExecutionResult = {}

/** A response from the memory. What is sent of it is its text. The trace has its operation, as if it ran. */
async function responseOf(run: Run, kept: KeptResponse): Promise<ExecutionResult> {
  const { operation, context } = requestOf(run)
  await context.trace?.operation(operation.kind, operation.name, async () => noResult)
  // https://www.rfc-editor.org/rfc/rfc9211
  run.response = { length: kept.length, isStored: false, kept, headers: { 'cache-status': 'fusion; hit' } }
  return noResult
}

/**
 * Operations from these costs on are queued. A query of 5,000 nodes takes tens of milliseconds of the event loop. The
 * response of a mutation is not bounded: each of 16 jobs in it may have the longest payload and result.
 */
const longCosts = { query: 5_000, mutation: 16, subscription: Number.POSITIVE_INFINITY }

/** Operations whose last runs took longer are queued, and from this cost on those that have not run. */
const long = { milliseconds: 10, costOfUnknown: 100 }

function isLong({ kind, busyMilliseconds }: PreparedOperation, cost: number): boolean {
  if (cost >= longCosts[kind]) return true
  const milliseconds = busyMilliseconds()
  return milliseconds === undefined ? cost >= long.costOfUnknown : milliseconds > long.milliseconds
}

/**
 * Lets operations wait in a fair queue.
 *
 * @param isQueued which of them, by what they may cost: those that keep the event loop busy
 */
export function queueIfLong({ queues }: Pick<OperationLimits, 'queues'>, isQueued = isLong): Step {
  return aroundExecution((run, next) => {
    const { operation, context, statements, held } = requestOf(run)
    if (!isQueued(operation, held.points?.requested ?? 0)) return next()
    return queues.operations.run(context.viewer, next, () => statements.isAbandoned === true)
  })
}

export function executeBy(
  execute: (request: OperationRequest, isCurrent: boolean) => Promise<OperationResponse>,
): Step {
  return aroundExecution(async (run) => {
    const response = await execute(requestOf(run), run.isCurrent)
    run.response = response
    return response.result
  })
}

export function followLive(follow: FollowLive | undefined): Step {
  const wrap: Wrap<Results> = async (run, next) => {
    if (!run.live || !follow) return next()
    return follow(requestOf(run) as SubscriptionRequest, run.live, acceptsPatches(run.params))
  }
  return around(wrap)
}

export function startSubscriptions(subscribe: Subscribe): Step {
  return {
    async subscription(run) {
      const request = requestOf(run) as SubscriptionRequest
      const { events, headers } = await subscribe(request)
      run.response.headers = headers
      // From now on it only waits for events.
      request.held.leavePlace()
      return events
    },
  }
}

/** The result, or each result of a subscription when it is sent, as `change` returns it. */
function changed(results: Results, change: (result: ExecutionResult) => ExecutionResult): Results {
  return Symbol.asyncIterator in results ? changeEach(results, change) : change(results)
}

async function* changeEach(
  results: AsyncIterable<ExecutionResult>,
  change: (result: ExecutionResult) => ExecutionResult,
) {
  for await (const result of results) yield change(result)
}

/**
 * An error of a document or of a run, whose message reveals no names of the schema. graphql-js can leave out
 * suggestions of similar names (`hideSuggestions`), but names the types of fields and arguments, and repeats values.
 * Its messages are replaced as a whole, and locations say where the client has to look.
 *
 * `Cannot query field "nam" on type "User".` ⇒ `The schema does not allow "nam" here. …`
 */
export function withoutNames(error: GraphQLError): GraphQLError {
  const { originalError, nodes = null, source = null, positions = null, path = null, extensions } = error
  // The errors of resolvers are this gateway's own, and name fields that the client has sent.
  if (originalError != null || error instanceof DocumentError) return error
  const name = sentAt(error)
  const subject = name === undefined ? 'this' : name.startsWith('$') ? `"${name}" or its value` : `"${name}"`
  const message = `The schema does not allow ${subject} here. Errors do not say more, because introspection is off.`
  return new GraphQLError(message, { nodes, source, positions, path, extensions })
}

/** The name in the client's document that an error is about. An error that was stored has a position, but no nodes. */
function sentAt({ source, positions }: GraphQLError): string | undefined {
  const [at] = positions ?? []
  return at === undefined ? undefined : /^[$@]?\w+/.exec(source?.body.slice(at, at + maxNameLength) ?? '')?.[0]
}
