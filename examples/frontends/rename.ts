import { createAction } from '@fusion-gateway/client'
import type { Send } from '@fusion-gateway/client/fetch'

const mutation = `mutation Rename($id: ID!, $name: String!) {
  updateUser(input: { id: $id, name: $name }) { user { id name } userErrors { field message } }
}`

/** Creates what a form calls when it is sent. Create one for each form. */
export function createRename(send: Send) {
  const run = createAction()
  return (id: string, name: string) => run((action) => send(mutation, { id, name }, { action }))
}
