/** What people read when no response arrives, or one of something else than the backend. */
export const unreachable = 'The service cannot be reached. Try again in a moment.'

/**
 * Calls the backend.
 *
 * @throws Error with a message for people
 */
export async function api<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
  const response = await fetch(path, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  }).catch(() => undefined)
  const answer = response?.status === 204 ? null : await response?.json().catch(() => undefined)
  if (!response?.ok) throw new Error(answer?.message ?? unreachable)
  return answer
}
