import { writeFileSync } from 'node:fs'
import { generateOperations, operationsPath } from './operations.ts'

writeFileSync(operationsPath, await generateOperations())
