import { stripTypeScriptTypes } from 'node:module'
import { parentPort, workerData } from 'node:worker_threads'

// Blanks remain where types were, so that lines and columns stay those of the file.
parentPort?.postMessage((workerData as string[]).map((text) => stripTypeScriptTypes(text)))
