import type { Server } from 'node:http'
import { GRAPHQL_TRANSPORT_WS_PROTOCOL } from 'graphql-ws'
import { WebSocketServer } from 'ws'
import { plugin } from '../../../http/plugin.ts'
import { maxBodyBytes } from '../../../http/server/server-options.ts'
import { type ConnectionsOptions, createConnections } from './connections.ts'

export type WebSocketsOptions = Omit<ConnectionsOptions, 'log' | 'keepConnection'>

/** How long a client may take to close its side. */
const closeMilliseconds = 1_000

/**
 * Serves WebSockets at /graphql. `opensWebSocket` in `unsupported-requests.ts` says for which requests Node calls this
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
