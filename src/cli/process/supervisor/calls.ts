import { createBatch } from './batch.ts'
import type { Call, Reply, SupervisorMethods } from './messages.ts'

type CallMethod = <Name extends keyof SupervisorMethods>(
  name: Name,
  ...args: Parameters<SupervisorMethods[Name]>
) => ReturnType<SupervisorMethods[Name]>

/** The calls of a child to its supervisor. */
export interface Calls {
  /** @throws Error if the supervisor cannot reply, or has ended */
  readonly call: CallMethod
  receive(replies: readonly Reply[]): void
  /** Rejects the calls without a reply, and all further ones. */
  end(): void
}

/** @param send sends calls to the supervisor */
export function createCalls(send: (calls: readonly Call[]) => void): Calls {
  const waiting = new Map<number, PromiseWithResolvers<unknown>>()
  const add = createBatch(send)
  let lastId = 0
  let hasEnded = false

  function call(name: keyof SupervisorMethods, ...args: readonly unknown[]): Promise<unknown> {
    if (hasEnded) return Promise.reject(supervisorHasEnded())
    lastId += 1
    const reply = Promise.withResolvers<unknown>()
    waiting.set(lastId, reply)
    add({ id: lastId, name, args })
    return reply.promise
  }

  return {
    call: call as CallMethod,
    receive(replies) {
      for (const { id, value, error } of replies) {
        const waitingCall = waiting.get(id)
        waiting.delete(id)
        if (error === undefined) waitingCall?.resolve(value)
        else waitingCall?.reject(new Error(error))
      }
    },
    end() {
      hasEnded = true
      for (const { reject } of waiting.values()) reject(supervisorHasEnded())
      waiting.clear()
    },
  }
}

function supervisorHasEnded(): Error {
  return new Error('The supervisor has ended')
}
