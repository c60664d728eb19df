export { grantsFor } from './grants.ts'
export {
  contract,
  deployMigrations,
  readContractions,
  readMigrationScripts,
  readMigrationStatus,
  requireMigrations,
} from './migrations.ts'
export { createMissing, repair } from './missing.ts'
export { partitionTables, readTenantTables } from './partition-tables.ts'
