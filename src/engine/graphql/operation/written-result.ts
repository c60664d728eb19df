import type { ExecutionResult } from 'graphql'

/** A result without errors whose data is a JSON text. It is read only where it is not sent as it is. */
export class WrittenResult implements ExecutionResult {
  readonly text: string
  readonly extensions: NonNullable<ExecutionResult['extensions']>

  constructor(text: string, extensions: NonNullable<ExecutionResult['extensions']>) {
    this.text = text
    this.extensions = extensions
  }

  get data(): NonNullable<ExecutionResult['data']> {
    return JSON.parse(this.text)
  }

  toJSON(): ExecutionResult {
    return { data: this.data, extensions: this.extensions }
  }
}

/** A result as JSON. */
export function toText(result: object): string {
  if (!(result instanceof WrittenResult)) return JSON.stringify(result)
  return `{"data":${result.text},"extensions":${JSON.stringify(result.extensions)}}`
}
