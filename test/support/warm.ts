import { startTestApp } from './app.ts'

// Loads what all files of a worker use: the modules, the schema, and an embedded database, which later files empty
// and use again (recycled-pglite.ts). So no file is charged for it.
const app = await startTestApp()
await app.close()
