import { openDemo } from '../../src/domain/seed/seed.ts'
import { startTestApp } from '../../test/support/app.ts'

/**
 * Starts a gateway with the demo tenant, which the examples of the document read.
 *
 * @returns the document, the address and the key, and `close()`
 */
export async function startDemo() {
  const app = await startTestApp()
  const key = await openDemo(app.database, 'memory')
  const address = await app.app.listen({ host: '127.0.0.1', port: 0 })
  const document = await (await fetch(`${address}/openapi.json`)).json()
  return { document, address, key, close: () => app.close() }
}
