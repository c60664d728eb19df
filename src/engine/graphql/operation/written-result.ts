import type { ExecutionResult } from 'graphql'

/** A response that is kept. */
export interface KeptResponse {
  /** Its length, in characters, as limits count it. */
  readonly length: number
  /** The number of its nodes. */
  readonly nodes: number
  /** Its data as JSON. */
  readonly text: string
  /** Returns a text that is made of the response once, such as its body in REST. */
  derive(name: string, make: () => string): string
}

/** A result without errors whose data is a JSON text. The text is read only where it is not sent as it is. */
export class WrittenResult implements ExecutionResult {
  readonly extensions: NonNullable<ExecutionResult['extensions']>
  private readonly text: string

  constructor(text: string, extensions: NonNullable<ExecutionResult['extensions']>) {
    this.text = text
    this.extensions = extensions
  }

  get data(): NonNullable<ExecutionResult['data']> {
    return JSON.parse(this.text)
  }

  /** A result as JSON. */
  static stringify(result: object): string {
    if (!(result instanceof WrittenResult)) return JSON.stringify(result)
    return `{"data":${result.text},"extensions":${JSON.stringify(result.extensions)}}`
  }

  /** A result whose own properties are all that it has, as graphql-ws and Yoga need it. */
  static toObject(result: ExecutionResult): ExecutionResult {
    return result instanceof WrittenResult ? { data: result.data, extensions: result.extensions } : result
  }
}
