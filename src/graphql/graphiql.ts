import { startingTabs } from './starting-tabs.ts'

/**
 * What GraphiQL 5 gets wrong with more than one starting tab. A tab jumps aside while the mouse is down on it, so that
 * the first click on it is lost; and the first reload opens an empty tab, unless a query is stored that it can go back to.
 */
const amendments = `
<style>.graphiql-tab { transform: none !important }</style>
<script>localStorage['graphiql:query'] ??= ${JSON.stringify(startingTabs[0]?.query)}</script>
`

/**
 * The page of GraphiQL, whole: scripts, styles and workers come from the package, none from the network.
 *
 * @param apiKey filled into the header editor; a placeholder when there is none
 */
export async function renderGraphiqlPage(apiKey: string | undefined): Promise<string> {
  // 9 MB of script: loaded when the first browser asks, not when the gateway starts.
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql')
  const headers = JSON.stringify({ 'x-api-key': apiKey ?? '<API_KEY>' }, null, 2)
  const page = renderGraphiQL({
    title: 'Fusion Gateway',
    endpoint: '/graphql',
    headers,
    defaultHeaders: headers,
    defaultTabs: startingTabs.map((tab) => ({ ...tab, headers })),
    defaultEditorToolsVisibility: 'headers',
    isHeadersEditorEnabled: true,
    // The key is the page's, not the browser's: a kept one would outlive the database that it is for.
    shouldPersistHeaders: false,
    schemaDescription: true,
  })
  return page.replace('</head>', () => `${amendments}</head>`)
}
