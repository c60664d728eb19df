import type { ExecutionResult } from 'graphql'

/** A response that is kept. */
export interface KeptResponse {
  /** Its length, in characters, as limits count it. */
  readonly length: number
  /** The number of its nodes. */
  readonly nodes: number
  /** Its data as JSON. */
  readonly text: string
  /** Returns texts that are made of the response once, such as its body in REST. */
  derive(name: string, make: () => readonly string[]): readonly string[]
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

  /** The same results, of which graphql-ws and Yoga can copy all properties. */
  static toObject<Results extends object>(results: Results): Results | ExecutionResult {
    return results instanceof WrittenResult ? { data: results.data, extensions: results.extensions } : results
  }
}
