import { createPreparer } from '@fusion-gateway/gateway-kit'
import { createMetrics } from '@fusion-gateway/telemetry'
import openapiTypescript, { astToString, type OpenAPI3 } from 'openapi-typescript'
import { schemas } from '../../src/domain/schema.graphql.ts'
import { createOpenApiDocument } from '../../src/rest/openapi/document.ts'

/** The content of /openapi.json under this host. */
export function openApiDocument(): Record<string, unknown> {
  const document = createOpenApiDocument(createPreparer({ schemas, introspection: true, metrics: createMetrics() }))
  return { ...document, servers: [{ url: 'https://gateway.test' }] }
}

/** The types that a client generates from /openapi.json. */
export async function generateOpenApiTypes(): Promise<string> {
  const types = astToString(await openapiTypescript(openApiDocument() as unknown as OpenAPI3))
  return `// Generated from the OpenAPI document: npm run schema\n${types}`
}
