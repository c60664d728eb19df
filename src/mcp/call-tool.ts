import type { CallToolResult } from '@modelcontextprotocol/server'
import type { FastifyReply, FastifyRequest, LightMyRequestResponse } from 'fastify'
import { GatewayError } from '../engine/errors.ts'
import { toHttpError } from '../engine/http/plugins/error-handler.ts'
import { toProblem } from '../engine/http/problem.ts'
import { clientOf } from '../engine/telemetry/usage/client.ts'
import type { Arguments, Tool } from './tool.ts'

/** The longest response of a tool, in bytes, because a model reads all of it; and the longest URL of its request. */
const maxLength = 32 * 1024

/**
 * The headers of a request to /mcp that its tool's request has too, and those of the tool's response that are passed
 * back.
 */
const passedOn = /^(authorization|x-api-key|idempotency-key|traceparent|tracestate|(apollo)?graphql-client-\w+)$/
const passedBack = /^(x-cost|ratelimit.*|retry-after|idempotent-replayed)$/

function pick(headers: object, names: RegExp): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => names.test(name)))
}

/**
 * Calls a tool. Its request passes through the whole application, so credentials, scopes, limits, the log and errors
 * are those of any other request. An error is a result too, because the model reads it.
 */
export async function callTool(tool: Tool, args: Arguments, request: FastifyRequest, reply: FastifyReply) {
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
    const response = await request.server.inject({ ...toSend, headers })
    reply.headers(pick(response.headers, passedBack))
    return resultOf(response, tool.annotations?.readOnlyHint === true)
  } catch (error) {
    return textResult(JSON.stringify(toProblem(toHttpError(error, request), request.id)), true)
  }
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
