import type { Viewer } from '@fusion-gateway/auth'
import type { ExecutionResult } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import type { Context } from '../context.ts'
import type { Live } from '../live/directive.ts'
import type { RequestState } from '../request.ts'
import type { IdempotencyKey, OperationRequest, OperationResponse } from './execute.ts'
import type { GraphQLParams } from './params.ts'
import type { Preparation, PreparedOperation } from './prepare/prepare.ts'
import type { SubscriptionRequest } from './send-each.ts'

export type Results = ExecutionResult | AsyncIterable<ExecutionResult>

/** The document of a client, and what its transport knows. */
export interface DocumentRequest {
  readonly state: RequestState
  /** As the client sent them. */
  readonly params: GraphQLParams
  readonly bodyLength: number
  /** Whether the client asks for a response that is read now. Browsers say so when they open any WebSocket. */
  readonly readsAnew?: boolean
  /** Reads the idempotency key from the parameters, which have the document now. */
  readonly keyOf: (params: GraphQLParams) => IdempotencyKey | undefined
  /** Whether the transport can send several results of a query. */
  readonly streams: boolean
  /**
   * Throws if the transport cannot send what the operation returns. Called before it is executed.
   *
   * @param hasSeveral whether it returns several results
   */
  readonly accept: (operation: PreparedOperation, hasSeveral: boolean) => void
  /** How the events of a subscription reach the client. */
  readonly reader: Pick<SubscriptionRequest, 'checkKey' | 'onFlushed' | 'onUnread'>
}

/** An operation on its way through the plugins of `path.ts`, which set what is not readonly. */
export interface Run {
  /** Undefined for an operation of the gateway itself, which was prepared before. */
  readonly document: DocumentRequest | undefined
  params: GraphQLParams
  context: Context | undefined
  preparation: Preparation | undefined
  request: OperationRequest | SubscriptionRequest | undefined
  /** How the query is followed, if it is a live one. */
  live: Live | undefined
  /** The position in the event log, if the client asks for it. */
  position: string | undefined
  /** Whether it must be read from the primary, where the log is read. */
  isCurrent: boolean
  response: Writable<Omit<OperationResponse, 'result'>>
  /** The results, and the same for the plugins of operators. */
  results: Results | undefined
  shown: Results | undefined
  /** Why it is not executed. */
  refusal: { readonly error: unknown } | undefined
}

type Writable<Type> = { -readonly [Key in keyof Type]: Type[Key] }

export function startRun(document: DocumentRequest | undefined, request?: OperationRequest): Run {
  return {
    document,
    params: document?.params ?? {},
    context: undefined,
    preparation: undefined,
    request,
    live: undefined,
    position: undefined,
    isCurrent: false,
    response: { length: 0, isStored: false, headers: {}, kept: undefined },
    results: undefined,
    shown: undefined,
    refusal: undefined,
  }
}

/** The operation of a run, which is known when it is executed. */
export function requestOf({ request }: Run): OperationRequest {
  if (!request) throw new Error('The document is not prepared yet')
  return request
}

/**
 * What the plugins of operators see of an operation besides its parameters, as `context.gateway`. The rest is private,
 * because it has the headers with the credential: no plugin can log them by accident.
 */
export class GatewayContext {
  readonly #run: Run

  constructor(run: Run) {
    this.#run = run
  }

  /** Who requests it. */
  get viewer(): Viewer | undefined {
    return this.#run.request?.context.viewer ?? this.#run.document?.state.viewer ?? undefined
  }

  get requestId(): string | undefined {
    return (this.#run.request ?? this.#run.document?.state)?.statements.requestId
  }

  static runOf({ gateway }: PluginContext): Run {
    return gateway.#run
  }
}

/** What the hooks of plugins get as `context`. */
export interface PluginContext {
  readonly gateway: GatewayContext
  readonly params: GraphQLParams
}

export type GatewayPlugin = Plugin<PluginContext>
