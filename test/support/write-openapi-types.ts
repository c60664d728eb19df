import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { generateOpenApiTypes } from './openapi-types.ts'

writeFileSync(path.join(import.meta.dirname, '../fixtures/openapi.generated.ts'), await generateOpenApiTypes())
