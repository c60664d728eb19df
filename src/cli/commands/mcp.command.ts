import { Command } from 'commander'
import type { Io } from '../io.ts'
import { readUrl } from './option-values.ts'

export function mcpCommand(io: Io): Command {
  return new Command('mcp')
    .description('serve the tools of a gateway over stdio, to MCP clients. FUSION_API_KEY is the key or a token')
    .option('--url <url>', 'the gateway', readUrl, 'http://127.0.0.1:4000')
    .action(async ({ url }: { readonly url: string }) => (await import('../actions/mcp.ts')).serveTools(io, url))
}
