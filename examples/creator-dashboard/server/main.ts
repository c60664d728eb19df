import { createBackend } from './backend.ts'
import { createGateway } from './gateway.ts'
import { readSettings } from './settings.ts'

try {
  await start()
} catch (error) {
  report(error)
  process.exitCode = 1
}

async function start(): Promise<void> {
  const settings = readSettings()
  const backend = await createBackend(settings)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => backend.close())
  const { HOST, PORT } = process.env
  const address = await backend.listen({ host: HOST || '127.0.0.1', port: Number(PORT || 4100) })
  process.stdout.write(`The dashboard is at ${address}\n`)
  // Says now whether sign-in will work.
  createGateway(settings).listUsers().catch(report)
}

function report(error: unknown): void {
  process.stderr.write(`${(error as Error).message}\n`)
}
