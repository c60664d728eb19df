import { live, type Send } from '@fusion-gateway/client/fetch'

const users = `query Users @live {
  users(first: 20, orderBy: { field: NAME, direction: ASC }) { totalCount nodes { id name } }
}`

/** Shows a list, and again whenever it changes, until the signal. */
export async function showUsers(send: Send, show: (data: unknown) => void, signal: AbortSignal): Promise<void> {
  for await (const { data } of live(send, users, {}, { signal })) show(data)
}
