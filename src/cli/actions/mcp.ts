import { OperatorError } from '@fusion-gateway/base'
import type { CallToolResult, ListToolsResult } from '@modelcontextprotocol/server'
import { readConfig } from '../../config.ts'
import type { Io } from '../io.ts'
import { credentialHeaders } from './credential.ts'

/** Serves the tools of a gateway over the standard streams of this process. */
export async function serveTools({ env }: Io, { url }: { readonly url: string }): Promise<void> {
  const { apiKey } = readConfig(env)
  if (apiKey === undefined) throw new OperatorError('Set FUSION_API_KEY to an API key or an access token.')
  const send = createSender(new URL('/mcp', url).href, apiKey)
  const list = () => send<ListToolsResult>('tools/list', {})
  // A wrong URL or key ends the command before a client connects.
  await list()
  const { serveStdio } = await import('@modelcontextprotocol/server/stdio')
  const { createServer } = await import('../../mcp/protocol.ts')
  const call = (name: string, args: object) => send<CallToolResult>('tools/call', { name, arguments: args })
  serveStdio(() => createServer(list, call), { maxSubscriptions: 0 })
}

function createSender(url: string, key: string) {
  const headers = {
    ...credentialHeaders(key),
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
  }
  return async <Result>(method: string, params: object): Promise<Result> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const response = await fetch(url, { method: 'POST', headers, body }).catch((error: Error) => {
      const { message } = (error.cause ?? error) as Error
      throw new OperatorError(`${url} cannot be reached: ${message}`)
    })
    const { result, error, detail } = await response.json().catch(() => ({}))
    if (result) return result
    const message = error?.message ?? `${url} refused: ${detail ?? response.status}`
    throw Object.assign(new OperatorError(message), { code: error?.code })
  }
}
