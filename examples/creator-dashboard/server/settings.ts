import { readFileSync } from 'node:fs'
import path from 'node:path'

/** What the backend must know. */
export interface Settings {
  /** The address of the gateway: `http://127.0.0.1:4000`. */
  readonly gatewayUrl: string
  /** The API key of the tenant. It never leaves this process, except to the gateway. */
  readonly apiKey: string
}

const demoKey = path.resolve(import.meta.dirname, '../../../data/demo-key')

/**
 * Reads the settings from the environment. Without API_KEY, reads the key of the gateway's demo tenant from its data folder.
 *
 * @throws Error if there is no key
 */
export function readSettings(env: NodeJS.ProcessEnv = process.env): Settings {
  return { gatewayUrl: env['GATEWAY_URL'] || 'http://127.0.0.1:4000', apiKey: env['API_KEY'] || readDemoKey() }
}

function readDemoKey(): string {
  try {
    return readFileSync(demoKey, 'utf8').trim()
  } catch {
    throw new Error(`Start the gateway first, which writes ${demoKey}, or set API_KEY.`)
  }
}
