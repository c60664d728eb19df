import {
  type CallToolResult,
  Client,
  type ClientOptions,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client'
import { onTestFinished } from 'vitest'

type Transport = Parameters<Client['connect']>[0]

/** The JSON that a tool returns. It has the keys of its tool, or of an error. */
interface ToolJson extends Readonly<Record<string, unknown>> {
  readonly id: string
  readonly users: readonly { readonly id: string }[]
  readonly profiles: readonly object[]
  readonly next_cursor: string
  readonly data: object
  readonly errors: readonly object[]
}

/** A connected client of MCP. It is closed when the test has finished. */
export interface McpClient {
  readonly client: Client
  /** Calls a tool, and parses its text if that is JSON. */
  call(
    name: string,
    args?: Record<string, unknown>,
  ): Promise<{ readonly isError: boolean; readonly text: string; readonly json: ToolJson }>
}

export async function connectBy(transport: Transport, options: ClientOptions = {}): Promise<McpClient> {
  const client = new Client({ name: 'test', version: '1.0.0' }, options)
  await client.connect(transport)
  onTestFinished(() => client.close())
  return {
    client,
    async call(name, args = {}) {
      const { content, isError = false } = (await client.callTool({ name, arguments: args })) as CallToolResult
      const text = content.map((part) => (part.type === 'text' ? part.text : part.type)).join()
      return { isError, text, json: text.startsWith('{') ? JSON.parse(text) : undefined }
    },
  }
}

/** Connects to /mcp of a gateway over HTTP. */
export function connectTo(
  address: string,
  headers: Record<string, string>,
  options?: ClientOptions,
): Promise<McpClient> {
  return connectBy(new StreamableHTTPClientTransport(new URL('/mcp', address), { requestInit: { headers } }), options)
}
