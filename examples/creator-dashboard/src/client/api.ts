/** What people read when no response arrives, or one of something else than the backend. */
export const unreachable = 'The service cannot be reached. Try again in a moment.'

/**
 * Calls the backend.
 *
 * @throws Error with a message for people
 */
export async function api<Result>(method: string, path: string, body?: unknown): Promise<Result> {
  const response = await fetch(path, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  }).catch(() => undefined)
  const result = response?.status === 204 ? null : await response?.json().catch(() => undefined)
  if (!response?.ok) throw new Error(result?.message ?? unreachable)
  return result
}
