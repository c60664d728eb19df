import type { Tool as Definition } from '@modelcontextprotocol/server'
import type { InjectOptions } from 'fastify'

export type Arguments = Readonly<Record<string, unknown>>

export interface Tool extends Definition {
  /** Returns the request to REST or GraphQL that the tool stands for, or a text. May throw BAD_USER_INPUT. */
  run(args: Arguments): (InjectOptions & { readonly url: string }) | string
}

/** `GetUser` ⇒ `get_user` */
export function toToolName(operationName = ''): string {
  return operationName.replace(/(?<=[a-z\d])(?=[A-Z])/g, '_').toLowerCase()
}
