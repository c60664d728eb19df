/** One part of what a distributed database has to fulfil. */
export interface Finding {
  readonly part: string
  /** Undefined: it could not be checked. */
  readonly isRight: boolean | undefined
  /** What was found, and what an operator has to do. */
  readonly text: string
}

export const right = (part: string, text: string): Finding => ({ part, isRight: true, text })
export const wrong = (part: string, text: string): Finding => ({ part, isRight: false, text })
