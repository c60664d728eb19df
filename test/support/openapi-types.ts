import openapiTypescript, { astToString, type OpenAPI3 } from 'openapi-typescript'
import { createOpenApiDocument } from '../../src/rest/openapi.ts'

/** The types that a client generates from /openapi.json. */
export async function generateOpenApiTypes(): Promise<string> {
  const types = astToString(await openapiTypescript(createOpenApiDocument() as unknown as OpenAPI3))
  return `// Generated from the OpenAPI document: npm run test:types\n${types}`
}
