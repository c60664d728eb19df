import { GatewayError } from '../../../errors.ts'

/**
 * Reads a credential from the payload of `connection_init`. Names are read as those of headers, in any case.
 *
 * @throws GatewayError MALFORMED_REQUEST if it is not a text
 */
export function credentialIn(params: Record<string, unknown>): Record<string, string> | undefined {
  const entries = Object.entries(params).map(([name, value]) => [name.toLowerCase(), value] as const)
  const sent = entries.filter(([name, value]) => (name === 'x-api-key' || name === 'authorization') && value != null)
  if (sent.length === 0) return undefined
  if (sent.some(([, value]) => typeof value !== 'string')) {
    throw new GatewayError('MALFORMED_REQUEST', 'x-api-key and authorization of connection_init are texts.')
  }
  return Object.fromEntries(sent) as Record<string, string>
}
