export { createDatabase, type Database, type DatabaseOptions } from './database.ts'
export * from './generated/prisma/client.ts'
export { tables } from './generated/tables.ts'
export { dataModel } from './model.ts'
export {
  calledFunctions,
  isOwnFunction,
  literals,
  modelTables,
  ownSequences,
  ownTables,
  triggerFunctions,
} from './own-objects.ts'
export { getDatamodel, type PrismaTypes } from './pothos.ts'
export { logWriteProblems, readWriteProblems } from './write-problems.ts'
