import type { renderGraphiQL } from '@graphql-yoga/render-graphiql'
import { startingTabs } from './starting-tabs.ts'

let loading: Promise<{ renderGraphiQL: typeof renderGraphiQL }> | undefined

/**
 * The page of GraphiQL, whole: scripts, styles and workers come from the package, none from the network.
 *
 * @param apiKey filled into the header editor; a placeholder when there is none
 */
export async function renderGraphiqlPage(apiKey: string | undefined): Promise<string> {
  // 9 MB of script: loaded when the first browser asks, not when the gateway starts.
  loading ??= import('@graphql-yoga/render-graphiql')
  const { renderGraphiQL } = await loading
  const headers = JSON.stringify({ 'x-api-key': apiKey ?? '<API_KEY>' }, null, 2)
  return renderGraphiQL({
    title: 'Fusion Gateway',
    endpoint: '/graphql',
    headers,
    defaultHeaders: headers,
    defaultTabs: startingTabs.map((tab) => ({ ...tab, headers })),
    defaultEditorToolsVisibility: 'headers',
    isHeadersEditorEnabled: true,
    schemaDescription: true,
  })
}
