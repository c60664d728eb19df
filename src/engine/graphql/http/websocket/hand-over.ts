import type { SubscribePayload } from 'graphql-ws'
import { problemOfNumbers } from '../../../input/json.ts'

/**
 * How graphql-ws takes a message: as a text, or parsed. Resolves when the operation that the message has started is
 * over.
 */
type Handle = (message: string) => Promise<void>

/** An operation that a client has started. */
interface Operation {
  /** Whether the client has ended it. */
  isEnded: boolean
  /** Resolves when graphql-ws has forgotten it. */
  over: Promise<void>
}

interface ClientMessage {
  readonly type?: unknown
  readonly id?: unknown
  readonly payload?: unknown
}

/** What is wrong with payloads that JSON.parse has changed. */
const problems = new WeakMap<object, string>()

/** What is wrong with the numbers of a payload, after the name of what has them; undefined if nothing is. */
export function numberProblemOf(payload: SubscribePayload): string | undefined {
  return problems.get(payload)
}

/**
 * Hands the messages of a client to graphql-ws. An operation that has the id of one which the client has ended waits
 * until that one is over: graphql-ws knows operations only by their ids, and would end the second with the first.
 */
export function createHandOver(handle: Handle): Handle {
  const operations = new Map<string, Operation>()

  function start(id: string, message: ClientMessage): Promise<void> {
    const before = operations.get(id)
    const operation: Operation = { isEnded: false, over: Promise.resolve() }
    const begin = async () => {
      if (!operation.isEnded) await handle(message as string)
    }
    operation.over = before?.isEnded ? before.over.then(begin, begin) : begin()
    operations.set(id, operation)
    return operation.over.finally(() => {
      if (operations.get(id) === operation) operations.delete(id)
    })
  }

  return async (text) => {
    const message = parse(text)
    // graphql-ws closes the connection of a client that sends anything else.
    if (!message) return handle(text)
    const { type, id, payload } = message
    if (typeof id !== 'string') return handle(message as string)
    if (type === 'subscribe') {
      const problem = problemOfNumbers(text)
      if (problem !== undefined && typeof payload === 'object' && payload) problems.set(payload, problem)
      return start(id, message)
    }
    const operation = operations.get(id)
    if (type === 'complete' && operation) operation.isEnded = true
    return handle(message as string)
  }
}

function parse(text: string): ClientMessage | undefined {
  try {
    const message: unknown = JSON.parse(text)
    return typeof message === 'object' && message !== null ? message : undefined
  } catch {
    return undefined
  }
}
