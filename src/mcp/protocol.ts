import * as sdk from '@modelcontextprotocol/server'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { packageVersion } from '../engine/telemetry/package-version.ts'
import { callTool } from './call-tool.ts'
import type { Arguments, Tool } from './tool.ts'

type List = () => sdk.ListToolsResult | Promise<sdk.ListToolsResult>
type Call = (name: string, args: Arguments) => Promise<sdk.CallToolResult>

/** Creates a server that has tools. It serves one connection, or one request over HTTP. */
export function createServer(list: List, call: Call): sdk.Server {
  const info = { name: 'fusion-gateway', version: packageVersion() }
  const server = new sdk.Server(info, { capabilities: { tools: {} } })
  server.setRequestHandler('tools/list', list)
  server.setRequestHandler('tools/call', ({ params }) => call(params.name, params.arguments ?? {}))
  return server
}

/** Executes the message of a request to /mcp, and returns the body of the response. */
export async function respond(tools: ReadonlyMap<string, Tool>, request: FastifyRequest, reply: FastifyReply) {
  const list: List = () => ({ tools: [...tools.values()].map(({ run: _, ...definition }) => definition) })
  const call: Call = (name, args) => {
    const tool = tools.get(name)
    if (tool) return callTool(tool, args, request, reply)
    throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, `There is no tool ${name.slice(0, 100)}.`)
  }
  // Nothing is announced, so there are no subscriptions.
  const handler = sdk.createMcpHandler(() => createServer(list, call), { maxSubscriptions: 0, keepAliveMs: 0 })
  const headers = request.headers as Record<string, string>
  const message = new Request('http://gateway/mcp', { method: 'POST', headers })
  const response = await handler.fetch(message, { parsedBody: request.body })
  reply.code(response.status).header('cache-control', 'no-store').type('application/json; charset=utf-8')
  const text = await response.text()
  // Clients of older versions get an event from the package. It is always one, and JSON is simpler.
  return text.startsWith('event: ') ? text.slice(text.indexOf('{')).trimEnd() : text
}
