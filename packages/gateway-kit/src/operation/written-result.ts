import type { ExecutionResult } from 'graphql'
import type { MadeOnce } from '../response-body.ts'

/** A response that is kept, with what was made of it. */
export interface KeptResponse extends MadeOnce {
  /** Its length, in characters, as limits count it. */
  readonly length: number
  /** Its data as JSON. */
  readonly text: string
}

/** A result without errors whose data is a JSON text. The text is read only where it is not sent as it is. */
export class WrittenResult implements ExecutionResult {
  readonly extensions: NonNullable<ExecutionResult['extensions']>
  readonly kept: KeptResponse

  constructor(kept: KeptResponse, extensions: NonNullable<ExecutionResult['extensions']>) {
    this.kept = kept
    this.extensions = extensions
  }

  get data(): NonNullable<ExecutionResult['data']> {
    return JSON.parse(this.kept.text)
  }

  /** Its JSON: the start is the same in each response. */
  get json(): { readonly start: string; readonly rest: string } {
    return { start: `{"data":${this.kept.text}`, rest: `,"extensions":${JSON.stringify(this.extensions)}}` }
  }

  static stringify(result: object): string {
    if (!(result instanceof WrittenResult)) return JSON.stringify(result)
    const { start, rest } = result.json
    return start + rest
  }

  /** The same results, of which graphql-ws and Yoga can copy all properties. */
  static toObject<Results extends object>(results: Results): Results | ExecutionResult {
    return results instanceof WrittenResult ? { data: results.data, extensions: results.extensions } : results
  }
}
