import type { Viewer } from '@fusion-gateway/auth'
import { retryAfterSeconds } from '@fusion-gateway/base'
import type { OperationLimits, RecentWrites } from '@fusion-gateway/limits'
import { type Client, clientOf } from '@fusion-gateway/telemetry'
import { type ExecutionResult, GraphQLError } from 'graphql'
import type { ChangeLog } from '../change-log.ts'
import type { Services } from '../context.ts'
import { defaultLive } from '../live/directive.ts'
import { createEvaluate, createFollowLive } from '../live/follow.ts'
import { createLiveQueries } from '../live/live-queries.ts'
import { viewerOf } from '../request.ts'
import type { SubscriptionValues } from '../subscription-values.ts'
import {
  createAdmissions,
  createUsageRecorder,
  lengthOf,
  longResponse,
  maxResponseLength,
  type UsageRecorder,
  usedPoints,
} from './admit.ts'
import {
  countErrors,
  executeIfPossible,
  executeOnce,
  type OperationRequest,
  type OperationResponse,
  toClientError,
} from './execute.ts'
import type { DocumentFinder } from './params.ts'
import {
  countUsage,
  executeBy,
  executeInSteps,
  followLive,
  maskErrors,
  queueIfLong,
  remember,
  startSubscriptions,
  takePoints,
  useDocuments,
  useParseOnce,
  useSteps,
  useViewer,
  withoutNames,
} from './path.ts'
import { createPreparer, type Preparation, type Preparer } from './prepare/prepare.ts'
import type { Schemas } from './prepare/schemas.ts'
import { createResponseMemory } from './response-memory.ts'
import { type DocumentRequest, GatewayContext, type Results, type Run, requestOf, startRun } from './run.ts'
import type { SentResult } from './send-each.ts'
import { createSubscribe } from './subscribe.ts'
import type { GatewayServer, ServerOptions } from './yoga.ts'

/** Runs the operations of all transports: those of clients' documents, and those of the gateway itself. */
export interface Operations extends Preparer {
  /**
   * Prepares the document of a client. New documents are queued, and a document with errors costs points.
   *
   * @param isAbandoned whether the client has gone
   * @throws GatewayError RATE_LIMITED if the document is new and no points are left
   */
  prepareFor(
    viewer: Viewer,
    text: string | undefined,
    operationName: string | null | undefined,
    isAbandoned: () => boolean,
    client?: Client,
  ): Promise<Preparation>
  /**
   * Runs the document of a client. Errors are as clients see them.
   *
   * @param served what Yoga knows about the request, if it serves it
   * @throws GatewayError if the operation is not executed
   */
  runDocument(document: DocumentRequest, served?: object): Promise<DocumentResponse>
  /**
   * Runs a query or a mutation that is prepared.
   *
   * @throws GatewayError if the operation is not executed: its budget or its idempotency key does not allow it
   */
  runOperation(request: OperationRequest): Promise<OperationResponse>
  /** Executes an operation that was admitted before: the next page of a list. */
  executeAdmitted(request: OperationRequest): Promise<OperationResponse>
  /**
   * Follows a query that is prepared: the first result, and each that differs from the one before.
   *
   * @returns undefined if it can change without a notice
   * @throws GatewayError if the query cannot be executed now, or too much is followed
   */
  follow(request: OperationRequest): Promise<SubscriptionValues<SentResult>> | undefined
  /** Loads Yoga, for what it serves itself. */
  readonly server: () => Promise<GatewayServer>
  /** Breaks off the live queries, because the process stops. */
  breakOff(): Promise<void>
  /** Called when the process stops. */
  close(): Promise<void>
}

export interface DocumentResponse {
  readonly results: Results
  /** The errors of a document that is not executed. */
  readonly rejected?: readonly GraphQLError[]
  readonly headers: Readonly<Record<string, string>>
  /** The HTTP status of a request that is rejected whatever the client accepts. */
  readonly status?: number | undefined
  /** Whether writing it keeps the event loop busy: it waits in the parsing queue. */
  readonly isLong: boolean
}

/** A document with errors costs a point for so many characters: validating 100,000 takes up to 80 ms. */
const charactersPerPoint = 100

export interface OperationsOptions
  extends Partial<Pick<ServerOptions, 'plugins' | 'renderGraphiql' | 'heartbeatMilliseconds'>> {
  readonly schemas: Schemas
  readonly services: Services
  readonly limits: OperationLimits
  /** Finds the documents of clients. A process without clients has none. */
  readonly documents?: DocumentFinder
  /** The keys that have written recently; undefined if there are no replicas. */
  readonly recentWrites?: RecentWrites | undefined
  /** Whether the schema may be explored by introspection and suggestions. */
  readonly introspection: boolean
  /** The most bytes of responses that are kept, and the log that says whether they are right. Otherwise none is. */
  readonly responseCacheBytes?: number
  /** How long a request waits for the log, before it is executed: 250 ms. */
  readonly logMilliseconds?: number
  readonly changeLog?: ChangeLog
}

export function createOperations(options: OperationsOptions): Operations {
  const {
    schemas,
    services,
    limits,
    documents,
    recentWrites,
    introspection,
    responseCacheBytes: maxBytes = 0,
    logMilliseconds: waitMilliseconds,
    changeLog,
    plugins: others = [],
  } = options
  const { queues } = limits
  const preparer = createPreparer({ ...services, schemas, introspection, live: changeLog?.live })
  const usage = createUsageRecorder(services.usageCounts)
  const admissions = createAdmissions(limits.points, usage)
  const subscribe = createSubscribe({ admissions, limits })
  const prepareFor = createPrepareFor(preparer, limits, usage)
  const executeAdmitted = createExecuteAdmitted(services.idempotency, recentWrites)
  const memory =
    changeLog && createResponseMemory({ ...services, maxBytes, changeLog, queue: queues.checks, waitMilliseconds })
  const take = takePoints(admissions, limits)
  // Points first: a read that lacks them waits a second before it is refused, and would keep its turn.
  const inTurn = queueIfLong(limits, () => true)
  const evaluate = createEvaluate(services, executeInSteps(take, inTurn, executeBy(executeAdmitted)))
  const live = memory && createLiveQueries({ memory, changeLog, admissions, evaluate })
  const following = live && createFollowLive(live, limits)

  /** What every operation passes. */
  const path = [
    useViewer(services),
    ...(documents ? [useDocuments(documents, prepareDocument)] : []),
    useParseOnce(),
    useSteps(
      maskErrors(introspection, others.length > 0),
      countUsage(usage),
      followLive(following?.followLive),
      take,
      remember(maxBytes > 0 ? memory : undefined, changeLog),
      queueIfLong(limits),
      executeBy(executeAdmitted),
      startSubscriptions(subscribe),
    ),
  ]

  /** Whether plugins of operators see how documents are parsed and validated. Otherwise that is done already. */
  const checksDocuments = others.some(({ onParse, onValidate, onPluginInit }) => onParse ?? onValidate ?? onPluginInit)

  // Yoga is a fifth of all modules, so a process loads it with its first operation.
  let loaded: GatewayServer | undefined
  async function load(): Promise<GatewayServer> {
    const { createServer } = await import('./yoga.ts')
    loaded ??= createServer({
      heartbeatMilliseconds: 12_000,
      ...options,
      schema: schemas.schema,
      path,
      plugins: others,
    })
    return loaded
  }

  function prepareDocument({ state }: DocumentRequest, { query, operationName }: Run['params']): Promise<Preparation> {
    const isAbandoned = () => state.statements.isAbandoned === true
    return prepareFor(viewerOf(state), query, operationName, isAbandoned, clientOf(state.headers))
  }

  return {
    ...preparer,
    prepareFor,
    async runDocument(document, served) {
      const { getEnveloped } = loaded ?? (await load())
      const run = startRun(document)
      const initial = Object.assign(served ?? {}, { gateway: new GatewayContext(run), params: document.params })
      const enveloped = getEnveloped(initial)
      const contextValue = await enveloped.contextFactory()
      const { isBadRequest = false, errors: known = [] } = run.preparation ?? {}
      // What Yoga serves, it checks by a plugin of its own: no mutation comes by GET.
      const isChecked = checksDocuments || served !== undefined
      const errors = isBadRequest || !isChecked ? known : checkDocument(run, enveloped)
      if (errors.length > 0) return refused(document, errors, isBadRequest, introspection)
      const { operation } = requestOf(run)
      document.accept(operation, operation.kind === 'subscription' || run.live !== undefined)
      const results = await execute(run, enveloped, contextValue)
      const { length, headers } = run.response
      return { results, headers, isLong: length > longResponse }
    },
    async runOperation(request) {
      const { getEnveloped } = loaded ?? (await load())
      const run = startRun(undefined, request)
      const enveloped = getEnveloped({ gateway: new GatewayContext(run), params: {} })
      const result = (await execute(run, enveloped, await enveloped.contextFactory())) as ExecutionResult
      return { ...run.response, result }
    },
    executeAdmitted: (request) => executeAdmitted(request),
    follow(request) {
      if (!following || !changeLog) return undefined
      const { unlogged } = request.operation.dependenciesOn(changeLog.live)
      return unlogged.length === 0 ? following.follow(request, defaultLive, false) : undefined
    },
    server: load,
    breakOff: async () => live?.close(),
    async close() {
      memory?.close()
      await loaded?.dispose()
    },
  }
}

function createPrepareFor(preparer: Preparer, { points, queues }: OperationLimits, usage: UsageRecorder) {
  const prepareFor: Operations['prepareFor'] = async (viewer, text, operationName, isAbandoned, client) => {
    const startedAt = performance.now()
    const prepare = () => preparer.prepare(text, operationName)
    const newText = text === undefined || preparer.isPrepared(text, operationName) ? undefined : text
    if (newText !== undefined) await points.spend(viewer, 0)
    const prepared = newText === undefined ? prepare() : await queues.parsing.run(viewer, prepare, isAbandoned)
    if (prepared.errors) {
      const cost = Math.floor((newText?.length ?? 0) / charactersPerPoint)
      if (cost > 0) await points.charge(viewer, cost)
      usage.recordInvalid(viewer, client, performance.now() - startedAt)
    }
    return prepared
  }
  return prepareFor
}

/**
 * Returns the function that executes an admitted operation: a query on the primary or a replica, a mutation once per
 * idempotency key. `isCurrent` says that it must be read from the primary, because the log is read there: the response
 * is kept, or its client follows the log.
 */
function createExecuteAdmitted(idempotency: Services['idempotency'], recentWrites: RecentWrites | undefined) {
  return async (request: OperationRequest, isCurrent = false): Promise<OperationResponse> => {
    const { operation, context, statements, held } = request
    const { viewer } = context
    const { keyId } = viewer
    const isQuery = operation.kind !== 'mutation'
    // A key sees what it wrote: its queries read from no replica for a while.
    if (isQuery && recentWrites) statements.mayLag = !isCurrent && !(await recentWrites.has(keyId))
    statements.payer = viewer
    if (!isQuery) statements.actor = `${keyId} ${statements.requestId}`
    const waits = { pending: 0, since: 0, milliseconds: 0 }
    statements.waits = waits
    const startedAt = performance.now()
    let outcome: Outcome
    try {
      outcome = await executeOnceOrNow(request, idempotency)
    } finally {
      // After the write, and before the client gets the response.
      if (!isQuery) await recentWrites?.note(keyId)
    }
    const { result, isReplay, isStored } = outcome
    if (!isReplay) held.points?.use(usedPoints(request, result))
    const codes = countErrors(result, context)
    // A field without its scope has an error in each row.
    const toSend = result.errors ? [result.data, result.errors] : result.data
    const length = lengthOf(toSend, isQuery ? maxResponseLength : Number.POSITIVE_INFINITY)
    operation.addRunTime(performance.now() - startedAt - waits.milliseconds)
    return {
      result,
      length,
      isStored,
      headers: {
        ...(isReplay && { 'idempotent-replayed': 'true' }),
        ...(codes.includes('SERVICE_UNAVAILABLE') && { 'retry-after': String(retryAfterSeconds) }),
      },
    }
  }
}

type Outcome = Awaited<ReturnType<typeof executeOnce>>

async function executeOnceOrNow(request: OperationRequest, idempotency: Services['idempotency']): Promise<Outcome> {
  const { operation, idempotencyKey } = request
  if (operation.kind === 'mutation' && idempotencyKey !== undefined) {
    return executeOnce(request, idempotencyKey, idempotency)
  }
  return { result: await executeIfPossible(request), isReplay: false, isStored: false }
}

type Enveloped = ReturnType<GatewayServer['getEnveloped']>

async function execute(run: Run, { schema, ...functions }: Enveloped, contextValue: object): Promise<Results> {
  const { operation, variables: variableValues } = requestOf(run)
  const { document, name: operationName = null, kind } = operation
  const start = kind === 'subscription' ? functions.subscribe : functions.execute
  const results: Results = await start({ schema, document, contextValue, variableValues, operationName })
  if (run.refusal) throw run.refusal.error
  return results === run.shown && run.results ? run.results : results
}

/** What Yoga and plugins note about the response to an error. */
interface HttpExtension {
  readonly spec?: boolean
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
}

/** The response to a document that is not executed. */
function refused(
  { state }: DocumentRequest,
  errors: readonly unknown[],
  isBadRequest: boolean,
  introspection: boolean,
): DocumentResponse {
  const { refusal, log } = state
  let status = isBadRequest ? 400 : undefined
  let headers: Readonly<Record<string, string>> = {}
  const shown = errors.map((error) => {
    refusal.note(error)
    const { http } = (error as GraphQLError).extensions as { readonly http?: HttpExtension }
    // Yoga marks those of the specification, whose status depends on what the client accepts.
    if (http && !http.spec) ({ status, headers = {} } = http)
    // Errors of the syntax have no nodes, and name nothing of the schema.
    const isShown = introspection || !(error instanceof GraphQLError && error.nodes)
    return toClientError(isShown ? error : withoutNames(error), log)
  })
  return { results: { errors: shown }, rejected: shown, headers, status, isLong: false }
}

/** The errors of a document: those that are known since it was prepared, and those that plugins find. */
function checkDocument({ params }: Run, { parse, validate, schema }: Enveloped): readonly GraphQLError[] {
  try {
    return validate(schema, parse(params.query ?? ''))
  } catch (error) {
    if (error instanceof GraphQLError) return [error]
    throw error
  }
}
