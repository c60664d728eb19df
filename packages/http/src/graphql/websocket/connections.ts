import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import { isRefusal, watchCredential } from '@fusion-gateway/auth'
import type { ErrorCode } from '@fusion-gateway/base'
import type { Authenticate } from '@fusion-gateway/gateway-kit'
import { clientHeaders, toGatewayError } from '@fusion-gateway/telemetry'
import type { FastifyInstance } from 'fastify'
import { type ExecutionArgs, GraphQLError, GraphQLSchema, parse } from 'graphql'
import { CloseCode, GRAPHQL_TRANSPORT_WS_PROTOCOL, makeServer, type SubscribePayload } from 'graphql-ws'
import { type WebSocket, WebSocketServer } from 'ws'
import { plugin } from '../../plugin.ts'
import { maxBodyBytes } from '../../server/server-options.ts'
import {
  type Connection,
  close,
  closeIfDone,
  createConnection,
  createFlow,
  leave,
  logClosed,
  watchClient,
} from './connection.ts'
import { credentialIn, keepIdsApart, readMessages } from './messages.ts'
import { createSocketOperations, RejectedOperation, type SocketOperationsOptions } from './socket-operations.ts'

export interface ConnectionsOptions extends SocketOperationsOptions, Pick<FastifyInstance, 'log' | 'keepConnection'> {
  readonly authenticate: Authenticate
  readonly idleMilliseconds: number
}

/** Codes of RFC 6455. */
const [failed, tryAgainLater] = [1011, 1013]

const closeCodes: Partial<Record<ErrorCode, number>> = {
  UNAUTHENTICATED: CloseCode.Unauthorized,
  TENANT_SUSPENDED: CloseCode.Forbidden,
  MALFORMED_REQUEST: CloseCode.Unauthorized,
  RATE_LIMITED: tryAgainLater,
  SERVICE_UNAVAILABLE: tryAgainLater,
}

const tooLong = 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH'

const stopping = 'The gateway is stopping.'

/** As many messages as a new connection counts: opening one takes about a millisecond. */
const messagesPerSocket = 10

/** A client chooses the ids of its operations, and gets them back with each result. */
const maxIdLength = 128

/** What graphql-ws would execute. `onOperation` replaces the result. */
const nothing: ExecutionArgs = { schema: new GraphQLSchema({}), document: parse('{ __typename }') }

/** Serves GraphQL over WebSockets. @see https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md */
function createConnections(options: ConnectionsOptions) {
  const { services, authenticate, limits, log: logger } = options
  const { metrics } = services
  const startOperation = createSocketOperations(options)
  const open = new Set<Connection>()
  let isDraining = false

  const server = makeServer<Record<string, unknown> | undefined, Connection>({
    onConnect: ({ extra, connectionParams = {} }) => admit(extra, connectionParams, options),
    onSubscribe: (_context, { length }) => (length > maxIdLength ? [idTooLong()] : nothing),
    execute: () => ({}),
    onOperation: ({ extra, subscriptions }, id, payload) =>
      start(extra, payload, () => void Reflect.deleteProperty(subscriptions, id)),
    onError: (_context, _id, _payload, errors) => errors.flatMap(errorsIn).map((error) => error.toJSON()),
  })

  /** @param forget makes graphql-ws send nothing more of the operation */
  function start(connection: Connection, payload: SubscribePayload, forget: () => void): AsyncGenerator<object> {
    const { headers, running, interruptions, silenceListeners } = connection
    connection.operations += 1
    const id = `${connection.id}.${connection.operations}`
    const interrupt = () => {
      forget()
      void operation.return(undefined)
    }
    const onSubscribe = () => {
      interruptions.add(interrupt)
      if (connection.leaving !== undefined) interrupt()
    }
    const onEnd = () => {
      running.delete(operation)
      interruptions.delete(interrupt)
      // After the last message of the operation.
      setImmediate(closeIfDone, connection)
    }
    const operation = startOperation({
      id,
      payload,
      headers,
      log: logger.child({ requestId: id }),
      authenticate: recheckBy(authenticate, connection),
      silenceListeners,
      onSubscribe,
      onEnd,
      onInterruption: (reason) => leave(connection, reason),
    })
    running.add(operation)
    return operation
  }

  /** Begins the protocol. Returns what ends it. */
  function speak(connection: Connection): ReturnType<typeof server.opened> {
    const { socket } = connection
    const flow = createFlow(socket)
    return server.opened(
      {
        protocol: socket.protocol,
        send: flow.send,
        close: (code, reason) => socket.close(code, reason),
        onMessage: (handle) =>
          readMessages(connection, {
            handle: keepIdsApart(handle),
            flow,
            limits,
            isStopping: () => connection.leaving !== undefined,
          }),
      },
      connection,
    )
  }

  return {
    /** Serves a client. */
    accept(socket: WebSocket, raw: Socket, upgrade: IncomingMessage): void {
      const connection = createConnection(socket, raw, upgrade, { log: logger, metrics })
      const openedAt = performance.now()
      open.add(connection)
      metrics.webSockets.set(open.size)
      watchClient(socket, raw, {
        ...options,
        hasCredential: () => connection.release !== undefined,
        onExcess: () => connection.refusal.note({ limit: 'body_length' }),
        onSilence() {
          for (const call of connection.silenceListeners) call()
        },
      })
      // ws closes the connection by itself, with the code of the error.
      socket.on('error', (error) => {
        if ((error as NodeJS.ErrnoException).code === tooLong) connection.refusal.note({ limit: 'body_length' })
      })
      const end = socket.protocol === GRAPHQL_TRANSPORT_WS_PROTOCOL ? speak(connection) : undefined
      if (!end) close(socket, CloseCode.SubprotocolNotAcceptable, otherProtocol)
      if (isDraining) leave(connection, stopping)
      socket.once('close', (code, reason) => {
        open.delete(connection)
        metrics.webSockets.set(open.size)
        connection.release?.()
        for (const operation of connection.running) void operation.return(undefined)
        void end?.(code, String(reason))
        logClosed(connection, code, performance.now() - openedAt)
      })
    },
    /** Breaks off all subscriptions, and closes each connection when its last operation has ended. */
    drain(): void {
      isDraining = true
      for (const connection of open) leave(connection, stopping)
    },
    cutOff(): void {
      for (const { socket } of open) socket.terminate()
    },
  }
}

/**
 * Finds the viewer again, of a connection or of its operation. Closes the connection if the credential is no longer
 * valid.
 */
function recheckBy(authenticate: Authenticate, { socket }: Connection): Authenticate {
  return async (request) => {
    try {
      return await authenticate(request)
    } catch (error) {
      if (isRefusal(error)) close(socket, CloseCode.Forbidden, error.message)
      throw error
    }
  }
}

/** Checks the credential and takes a permit, or closes the connection. */
async function admit(
  connection: Connection,
  params: Record<string, unknown>,
  { authenticate, limits, keepConnection }: ConnectionsOptions,
): Promise<boolean> {
  const { socket, raw, log } = connection
  try {
    const sent = connection.headers
    connection.headers = { ...(credentialIn(params) ?? sent), ...clientHeaders(sent), ...clientHeaders(params) }
    const viewer = await authenticate(connection)
    await limits.messages.wait(viewer, messagesPerSocket)
    const releasePermit = await limits.webSockets.take(viewer)
    const stopWatching = watchCredential(
      () => recheckBy(authenticate, connection)(connection),
      () => undefined,
    )
    connection.release = () => {
      releasePermit()
      stopWatching()
    }
    keepConnection(raw)
    // The client has left meanwhile.
    if (socket.readyState === socket.CLOSED) connection.release()
    return true
  } catch (error) {
    const { code, message } = toGatewayError(error, log)
    connection.refusal.note(error)
    close(socket, closeCodes[code] ?? failed, message)
    return false
  }
}

const otherProtocol = 'Use the subprotocol graphql-transport-ws, as clients of the package graphql-ws do.'

function idTooLong(): GraphQLError {
  const extensions = { code: 'MALFORMED_REQUEST' satisfies ErrorCode }
  return new GraphQLError(`The id of an operation may have at most ${maxIdLength} characters.`, { extensions })
}

/** The errors of an operation that was rejected, as the client sees them. */
function errorsIn(error: GraphQLError): readonly GraphQLError[] {
  return error.originalError instanceof RejectedOperation ? error.originalError.errors : [error]
}

type WebSocketsOptions = Omit<ConnectionsOptions, 'log' | 'keepConnection'>

/** How long a client may take to close its side. */
const closeMilliseconds = 1_000

/**
 * Serves WebSockets at /graphql. `opensWebSocket` in `supported-requests.ts` says for which requests Node calls this
 * plugin.
 */
export const webSockets = plugin<WebSocketsOptions>('webSockets', (app, options) => {
  const { log, keepConnection } = app
  const connections = createConnections({ ...options, log, keepConnection })
  const settings = {
    noServer: true,
    clientTracking: false,
    autoPong: false,
    maxPayload: maxBodyBytes,
    closeTimeout: closeMilliseconds,
    // Compressing takes memory for each connection, and can reveal secrets by the length of messages.
    perMessageDeflate: false,
    // Another one is accepted and then closed with a reason, which browsers do not show for a failed upgrade.
    handleProtocols: (offered: Set<string>) =>
      offered.has(GRAPHQL_TRANSPORT_WS_PROTOCOL) ? GRAPHQL_TRANSPORT_WS_PROTOCOL : ([...offered][0] ?? false),
  }
  const acceptor = new WebSocketServer(settings)
  app.server.on('upgrade', (request, socket, head) => {
    acceptor.handleUpgrade(request, socket, head, (accepted) => connections.accept(accepted, request.socket, request))
  })
  app.addHook('preClose', async () => connections.drain())

  // Node forgets a connection that was upgraded.
  const { closeAllConnections } = app.server
  app.server.closeAllConnections = function (this: Server) {
    connections.cutOff()
    closeAllConnections.call(this)
  }
})
