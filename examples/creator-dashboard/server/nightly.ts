import { setTimeout } from 'node:timers/promises'
import { createGateway, GatewayProblem } from './gateway.ts'
import { readSettings } from './settings.ts'
import { syncFile } from './sync.ts'

const maxAttempts = 8

const [file] = process.argv.slice(2)
if (file === undefined) throw new Error('Name a file with a profile per line: npm run sync -- creators.ndjson')
const gateway = createGateway(readSettings())
let rejected = 0
const sent = await syncFile(file, {
  sync: (inputs) => patiently(() => gateway.syncProfiles(inputs)),
  onRejected({ accountId }, message) {
    rejected += 1
    process.stderr.write(`${accountId} ${message}\n`)
  },
})
process.stdout.write(`${sent - rejected} profiles synchronized, ${rejected} rejected\n`)
if (rejected > 0) process.exitCode = 1

/** Waits for a gateway that restarts or has no points left: about two minutes in all. */
async function patiently<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      const isTemporary = error instanceof GatewayProblem && error.statusCode === 503
      if (!isTemporary || attempt === maxAttempts) throw error
      await setTimeout(1_000 * 2 ** (attempt - 1))
    }
  }
}
