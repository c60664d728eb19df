import { createAction } from '@fusion-gateway/client'
import type { Send } from '@fusion-gateway/client/fetch'

const mutation = `mutation Rename($id: ID!, $name: String!, $updatedAt: DateTime) {
  updateUser(input: { id: $id, name: $name, expectedUpdatedAt: $updatedAt }) {
    user { id name updatedAt }
    userErrors { code field message }
  }
}`

/**
 * Creates what a form calls when it is sent. Create one for each form.
 *
 * @returns a function that gets the user with the `updatedAt` that the form was filled with. The error CONFLICT says that
 *   somebody else has saved since
 */
export function createRename(send: Send) {
  const run = createAction()
  return ({ id, updatedAt }: { readonly id: string; readonly updatedAt: string }, name: string) =>
    run((action) => send(mutation, { id, name, updatedAt }, { action }))
}
