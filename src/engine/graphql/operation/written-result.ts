import type { ExecutionResult } from 'graphql'

/** A result without errors whose data is a JSON text. The text is read only where it is not sent as it is. */
export class WrittenResult implements ExecutionResult {
  readonly extensions: NonNullable<ExecutionResult['extensions']>
  declare readonly data: NonNullable<ExecutionResult['data']>
  readonly #text: string

  constructor(text: string, extensions: NonNullable<ExecutionResult['extensions']>) {
    // Its own, because graphql-ws and Yoga copy what is in a result.
    Object.defineProperty(this, 'data', { enumerable: true, get: () => JSON.parse(text) })
    this.extensions = extensions
    this.#text = text
  }

  /** A result as JSON. */
  static stringify(result: object): string {
    if (!(result instanceof WrittenResult)) return JSON.stringify(result)
    return `{"data":${result.#text},"extensions":${JSON.stringify(result.extensions)}}`
  }
}
