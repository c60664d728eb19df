/**
 * Calls the backend.
 *
 * @throws Error with the message of the backend
 */
export async function api<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
  const response = await fetch(path, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  })
  const answer = response.status === 204 ? null : await response.json()
  if (!response.ok) throw new Error(answer?.message ?? `The server answered with ${response.status}.`)
  return answer
}
