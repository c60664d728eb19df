import type { Results } from './negotiate.ts'

/** What Yoga's plugins send to a client. */
export interface YogaInput {
  readonly results: Results
  /** Resolves when the client has received what was sent so far, or has gone. */
  flushed(): Promise<void>
}
