export { baseUrlOf, prefixOf } from './base-url.ts'
export { createGraphiql } from './graphql/graphiql.ts'
export { loadPlugins } from './graphql/load-plugins.ts'
export { type GraphQLOptions, registerGraphQL } from './graphql/route.ts'
export { schemaFile } from './graphql/schema-file.ts'
export { webSockets } from './graphql/websocket/connections.ts'
export {
  addFile,
  createTextPages,
  faviconPath,
  htmlPage,
  isFromThisMachine,
  readPageFile,
  rootOf,
  type StaticFiles,
  sendFile,
  setPageHeaders,
  wantsPage,
} from './pages/page.ts'
export { routePlugin } from './plugin.ts'
export { cors } from './plugins/cors.ts'
export { errorHandler } from './plugins/error-handler.ts'
export { loadShedding } from './plugins/load-shedding.ts'
export { type MetricsSource, maxMetricsConnections, metrics, serveMetrics } from './plugins/metrics.ts'
export { requestLifecycle } from './plugins/request-lifecycle.ts'
export { supportedRequests } from './plugins/supported-requests.ts'
export { toProblem } from './problem.ts'
export { connectionLimit, draining, lingeringClose } from './server/connections.ts'
export { listen } from './server/listen.ts'
export { type HttpTimeouts, serverOptions } from './server/server-options.ts'
