import { buildVersion, GatewayError } from '@fusion-gateway/base'
import { toHttpError } from '@fusion-gateway/gateway-kit'
import { toProblem } from '@fusion-gateway/http'
import { clientOf } from '@fusion-gateway/telemetry'
import type { CallToolResult } from '@modelcontextprotocol/server'
import * as sdk from '@modelcontextprotocol/server'
import type { FastifyReply, FastifyRequest, LightMyRequestResponse } from 'fastify'
import type { Arguments, Tool } from './route-tools.ts'

/** The longest response of a tool, in bytes, because a model reads all of it; and the longest URL of its request. */
const maxLength = 32 * 1024

/** The headers of /mcp that the request of its tool gets, and those of its response that are passed back. */
const passedOn = /^(authorization|x-api-key|idempotency-key|traceparent|tracestate|(apollo)?graphql-client-\w+)$/
const passedBack = /^(x-cost.*|ratelimit.*|retry-after|idempotent-replayed)$/

function pick(headers: object, names: RegExp): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => names.test(name)))
}

/**
 * Calls a tool. Its request passes through the whole application, so credentials, scopes, limits, the log and errors
 * are those of any other request. An error is a result too, because the model reads it.
 */
async function callTool(tool: Tool, args: Arguments, request: FastifyRequest, reply: FastifyReply) {
  try {
    const toSend = tool.run(args)
    if (typeof toSend === 'string') return textResult(toSend)
    if (toSend.url.length > maxLength) {
      throw new GatewayError('PAYLOAD_TOO_LARGE', 'Send at most 32 KiB of arguments.', { limit: 'body_length' })
    }
    // The request of the tool takes its own.
    request.held.leavePlace()
    const isNamed = clientOf(request.headers).name !== undefined
    const headers = {
      ...(!isNamed && { 'graphql-client-name': 'mcp' }),
      ...pick(request.headers, passedOn),
      accept: 'application/json',
      'x-request-id': request.id,
    }
    const send = (more: object = {}) => request.server.inject({ ...toSend, headers: { ...headers, ...more } })
    const response = await waitFor(tool, args, send)
    reply.headers(pick(response.headers, passedBack))
    return resultOf(response, tool.annotations?.readOnlyHint === true)
  } catch (error) {
    return textResult(JSON.stringify(toProblem(toHttpError(error, request), request.id)), true)
  }
}

/** Sends the request of a tool, again and again until the response is the one that the tool waits for. */
async function waitFor(
  { wait }: Tool,
  args: Arguments,
  send: (headers?: object) => Promise<LightMyRequestResponse>,
): Promise<LightMyRequestResponse> {
  if (!wait) return send()
  const until = performance.now() + wait.seconds(args) * 1_000
  let response = await send()
  while (response.statusCode === 200 && !wait.isOver(response.body)) {
    const seconds = Math.ceil((until - performance.now()) / 1_000)
    if (seconds <= 0) return response
    const next = await send({ 'if-none-match': response.headers['etag'], prefer: `wait=${seconds}` })
    if (next.statusCode === 304) return response
    response = next
  }
  return response
}

function resultOf({ statusCode, headers, body, rawPayload }: LightMyRequestResponse, isReadOnly: boolean) {
  const { length } = rawPayload
  if (length > maxLength) {
    const problem = `The response has ${Math.ceil(length / 1024)} KiB, and a tool returns at most 32 KiB.`
    // After an error the model would send a mutation again.
    if (!isReadOnly) return textResult(`It was executed. ${problem}`)
    return textResult(`${problem} Ask for fewer rows (limit, first), ids or fields.`, true)
  }
  // REST responds to a DELETE without a body.
  if (statusCode === 204) return textResult('Deleted.')
  const data: object = JSON.parse(body)
  // REST sends the cursor of the next page as a header.
  const cursor = /[?&]cursor=([\w-]+)>/.exec(String(headers.link))?.[1]
  const text = cursor === undefined ? body : JSON.stringify({ ...data, next_cursor: cursor })
  return textResult(text, statusCode >= 400 || 'errors' in data)
}

function textResult(text: string, isError = false): CallToolResult {
  return { content: [{ type: 'text', text }], isError }
}

type List = () => sdk.ListToolsResult | Promise<sdk.ListToolsResult>
type Call = (name: string, args: Arguments) => Promise<sdk.CallToolResult>

/** Creates a server that has tools. It serves one connection, or one request over HTTP. */
export function createServer(list: List, call: Call): sdk.Server {
  const info = { name: 'fusion-gateway', version: buildVersion() }
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
