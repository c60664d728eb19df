/**
 * The properties of a thrown value that say why an attempt failed. Handlers throw anything, and getters and proxies
 * throw, too.
 */
export function readThrown(thrown: unknown): Readonly<Record<string, unknown>> {
  try {
    if (typeof thrown === 'string') return { message: thrown }
    const { name, message, code, retryAfterSeconds } = Object(thrown)
    return { name, message, code, retryAfterSeconds }
  } catch {
    return {}
  }
}
