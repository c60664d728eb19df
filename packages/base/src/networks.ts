import { isIP } from 'node:net'

/** Whether a text is a network, or one address. */
export function isNetwork(text: string): boolean {
  return parseNetwork(text) !== undefined
}

/** `10.20.0.0/16` ⇒ its address, prefix and family. Without a prefix, it is one address. */
export function parseNetwork(text: string) {
  const [, address = '', given] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const version = isIP(address)
  // A zone names an interface of this machine.
  if (version === 0 || address.includes('%')) return undefined
  const bits = version === 4 ? 32 : 128
  const prefix = given === undefined ? bits : Number(given)
  return prefix > bits ? undefined : { address, prefix, family: `ipv${version as 4 | 6}` as const }
}
