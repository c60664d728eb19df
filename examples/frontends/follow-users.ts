import { follow, type Send } from '@fusion-gateway/client/fetch'

interface Users {
  readonly users: { readonly nodes: readonly { readonly id: string; readonly name: string }[] } | null
}

const query = `query Newest {
  users(first: 20, orderBy: { field: CREATED_AT, direction: DESC }) { nodes { id name } }
}`
const changes = `subscription Changes($after: ID) {
  events(after: $after, types: [USER_CREATED, USER_UPDATED, USER_DELETED]) { id }
}`

/** Shows a list, and again after each change until the signal. It misses none between the query and the subscription, or in a deploy. */
export async function followUsers(send: Send, show: (users: Users) => void, signal: AbortSignal): Promise<void> {
  const { data, position: after } = await send<Users>(query, {}, { signal, position: true })
  show(data)
  for await (const _ of follow(send, changes, { after }, { signal }))
    show((await send<Users>(query, {}, { signal })).data)
}
