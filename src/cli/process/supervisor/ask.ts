import { createBatch } from './batch.ts'
import type { Answer, Question, Questions } from './messages.ts'

type Ask = <Name extends keyof Questions>(
  name: Name,
  ...args: Parameters<Questions[Name]>
) => ReturnType<Questions[Name]>

/** The questions of a child to its supervisor. */
export interface Asked {
  /** @throws Error if the supervisor cannot answer, or has ended */
  readonly ask: Ask
  receive(answers: readonly Answer[]): void
  /** Rejects the questions without an answer, and all further ones. */
  end(): void
}

/** @param send sends questions to the supervisor */
export function createAsked(send: (questions: readonly Question[]) => void): Asked {
  const waiting = new Map<number, PromiseWithResolvers<unknown>>()
  const add = createBatch(send)
  let lastId = 0
  let hasEnded = false

  function ask(name: keyof Questions, ...args: readonly unknown[]): Promise<unknown> {
    if (hasEnded) return Promise.reject(supervisorHasEnded())
    lastId += 1
    const answer = Promise.withResolvers<unknown>()
    waiting.set(lastId, answer)
    add({ id: lastId, name, args })
    return answer.promise
  }

  return {
    ask: ask as Ask,
    receive(answers) {
      for (const { id, value, error } of answers) {
        const question = waiting.get(id)
        waiting.delete(id)
        if (error === undefined) question?.resolve(value)
        else question?.reject(new Error(error))
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
